/* Buffers of compiled programs: aligned, counted, and returned when a call is abandoned.
 *
 * Each block is preceded by a header that knows its size and its call. The blocks of a call form a
 * list, so that an allocation that fails deep inside compiled code can leave by `longjmp`: compiled
 * code has no destructors, all that it owns are these blocks.
 */
#include <stddef.h>

#include "ted/block.h"
#include "ted/call.h"
#include "ted/platform.h"

static ted_atomic current_bytes, peak_bytes, limit_bytes;

/* Blocks may be freed by another thread than took them, so the lists share one lock. It is held
 * for a few instructions, once per buffer and not per element. */
static ted_atomic lists_lock;

static void lock_lists(void) { ted_lock(&lists_lock); }

static void unlock_lists(void) { ted_unlock(&lists_lock); }

/* A process forked while another thread holds the lock would wait for ever for a thread that it does
 * not have: who forks holds it. */
TED_AT_FORK(lock_lists, unlock_lists, unlock_lists)

static void raise_peak(int64_t bytes) {
  int64_t peak = ted_get(&peak_bytes);
  while (bytes > peak && !ted_replace(&peak_bytes, &peak, bytes)) {
  }
}

/* Counts `size` bytes in, unless that passes the limit. */
static bool charge(int64_t size) {
  int64_t limit = ted_get(&limit_bytes);
  int64_t bytes = ted_add(&current_bytes, size) + size;
  if (limit > 0 && bytes > limit) {
    ted_add(&current_bytes, -size);
    return false;
  }
  raise_peak(bytes);
  return true;
}

static void link_block(struct ted_block *block, struct ted_call *call) {
  block->call = call;
  block->previous = block->next = NULL;
  if (!call)
    return;
  struct ted_call *whole = call->whole ? call->whole : call;
  lock_lists();
  block->next = call->blocks;
  if (call->blocks)
    call->blocks->previous = block;
  call->blocks = block;
  whole->current += block->size;
  if (whole->current > whole->peak)
    whole->peak = whole->current;
  unlock_lists();
}

static void unlink_block(struct ted_block *block) {
  struct ted_call *call = block->call;
  if (!call)
    return;
  lock_lists();
  if (block->previous)
    block->previous->next = block->next;
  else
    call->blocks = block->next;
  if (block->next)
    block->next->previous = block->previous;
  (call->whole ? call->whole : call)->current -= block->size;
  unlock_lists();
}

/* Large blocks begin at several places of a page. Where a result begins at the place of an input or
 * a few bytes behind it, processors take loads of the one for stores to the other, which cost a
 * running sum along rows of a page 15 times its time. Others' large arrays begin at 16 or 64. */
enum { LARGE = 1 << 16, PAGE = 4096, STEP = 512, FIRST_PLACE = 256 };

static ted_atomic large_blocks;

static uintptr_t at_next_place(uintptr_t first) {
  uintptr_t place = FIRST_PLACE + (uintptr_t)ted_add(&large_blocks, 1) * STEP % PAGE;
  return first + (place - first) % PAGE;
}

/* A block whose header stands right in front of the data. */
static struct ted_block *plain_block(int64_t alignment, int64_t size) {
  bool has_place = size >= LARGE && alignment <= FIRST_PLACE;
  int64_t overhead = (int64_t)sizeof(struct ted_block) + (has_place ? PAGE : alignment);
  void *start = ted_reuse_take(size + overhead);
  if (!start)
    return NULL;
  uintptr_t first = (uintptr_t)start + sizeof(struct ted_block);
  uintptr_t data = has_place ? at_next_place(first)
                             : (first + (uintptr_t)alignment - 1) & ~((uintptr_t)alignment - 1);
  struct ted_block *block = (struct ted_block *)data - 1;
  block->start = start;
  block->room = size + overhead;
  block->data = (void *)data;
  return block;
}

static void *take(struct ted_call *call, int64_t alignment, int64_t size, bool exact) {
  if (alignment < TED_ALIGNMENT)
    alignment = TED_ALIGNMENT;
  int64_t most = PTRDIFF_MAX - PAGE - alignment - (int64_t)sizeof(struct ted_block);
  if (size < 0 || size > most || !charge(size))
    return NULL;
  struct ted_block *block = ted_guard_is_on() ? ted_guard_take(alignment, size, exact)
                                              : plain_block(alignment, size);
  if (!block) {
    ted_add(&current_bytes, -size);
    return NULL;
  }
  block->size = size;
  link_block(block, call);
  return block->data;
}

void *ted_memory_take(int64_t alignment, int64_t size) {
  return take(NULL, alignment, size, true);
}

void ted_memory_give(void *pointer) {
  if (!pointer)
    return;
  struct ted_block *guarded = ted_guard_find(pointer);
  struct ted_block *block = guarded ? guarded : (struct ted_block *)pointer - 1;
  unlink_block(block);
  ted_add(&current_bytes, -block->size);
  if (guarded)
    ted_guard_give(block);
  else
    ted_reuse_give(block->start, block->room);
}

void ted_blocks_abandon(struct ted_call *call) {
  while (call->blocks)
    ted_memory_give(call->blocks->data);
}

static void *take_or_leave(int64_t alignment, int64_t size) {
  struct ted_call *call = ted_call_current();
  void *pointer = take(call, alignment, size, false);
  if (pointer)
    return pointer;
  ted_call_fail(call, size);
}

void *_mlir_memref_to_llvm_alloc(int64_t size) { return take_or_leave(TED_ALIGNMENT, size); }

void *_mlir_memref_to_llvm_aligned_alloc(int64_t alignment, int64_t size) {
  return take_or_leave(alignment, size);
}

void _mlir_memref_to_llvm_free(void *pointer) { ted_memory_give(pointer); }

int64_t ted_memory_current(void) { return ted_get(&current_bytes); }

int64_t ted_memory_peak(void) { return ted_get(&peak_bytes); }

void ted_memory_reset_peak(void) { ted_swap(&peak_bytes, ted_get(&current_bytes)); }

int64_t ted_memory_set_limit(int64_t bytes) { return ted_swap(&limit_bytes, bytes); }
