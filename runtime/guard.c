/* Blocks between two pages without access, for tests: an access outside ends the process.
 *
 *   | no access | fill ... data (TED_GUARD_END) | no access |
 *   | no access | data ... fill (TED_GUARD_START) | no access |
 *
 * What alignment leaves between the data and a page is filled, and must be so when the block is
 * given back. Slow, and a page or two for each block: nothing but tests turns it on.
 */
#define _DEFAULT_SOURCE
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "ted/block.h"

enum { FILL = 0xa5 };

struct guarded {
  struct ted_block block;
  struct guarded *next;
  size_t length; /* of the mapping that starts at `block.start` */
};

static _Atomic int mode;
static _Atomic int64_t blocks; /* in the list, which nobody need walk when it is empty */
static struct guarded *list;
static atomic_flag list_lock = ATOMIC_FLAG_INIT;

static void lock(void) {
  while (atomic_flag_test_and_set_explicit(&list_lock, memory_order_acquire)) {
  }
}

static void unlock(void) { atomic_flag_clear_explicit(&list_lock, memory_order_release); }

int ted_memory_set_guard(int wanted) { return atomic_exchange(&mode, wanted); }

bool ted_guard_is_on(void) { return atomic_load(&mode) != TED_GUARD_OFF; }

static int64_t page(void) { return sysconf(_SC_PAGESIZE); }

/* The two ends of the accessible part. */
static unsigned char *body(const struct guarded *found) {
  return (unsigned char *)found->block.start + page();
}

static unsigned char *body_end(const struct guarded *found) {
  return (unsigned char *)found->block.start + found->length - page();
}

struct ted_block *ted_guard_take(int64_t alignment, int64_t size, bool exact) {
  int64_t unit = page(), pages = (size + alignment + unit - 1) / unit + 2;
  struct guarded *made = malloc(sizeof *made);
  if (!made)
    return NULL;
  made->length = (size_t)(pages * unit);
  void *start = mmap(NULL, made->length, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  made->block.start = start;
  if (start == MAP_FAILED)
    return free(made), NULL;
  size_t open = made->length - 2 * (size_t)unit;
  if (mprotect(body(made), open, PROT_READ | PROT_WRITE) != 0)
    return munmap(start, made->length), free(made), NULL;
  memset(body(made), FILL, (size_t)(body_end(made) - body(made)));
  uintptr_t last = (uintptr_t)body_end(made) - (uintptr_t)size;
  if (!exact)
    last &= ~((uintptr_t)alignment - 1);
  bool at_end = atomic_load(&mode) == TED_GUARD_END;
  made->block.data = at_end ? (void *)last : (void *)body(made);
  lock();
  made->next = list;
  list = made;
  atomic_fetch_add(&blocks, 1);
  unlock();
  return &made->block;
}

struct ted_block *ted_guard_find(void *data) {
  if (!atomic_load(&blocks))
    return NULL;
  lock();
  struct guarded *found = list;
  while (found && found->block.data != data)
    found = found->next;
  unlock();
  return found ? &found->block : NULL;
}

static void check_fill(const struct guarded *found, const unsigned char *from,
                       const unsigned char *to) {
  for (; from < to; from++)
    if (*from != FILL) {
      fprintf(stderr, "ted: a block of %lld bytes was overrun at byte %lld\n",
              (long long)found->block.size,
              (long long)(from - (const unsigned char *)found->block.data));
      abort();
    }
}

void ted_guard_give(struct ted_block *block) {
  struct guarded *found = (struct guarded *)block;
  unsigned char *data = block->data;
  check_fill(found, body(found), data);
  check_fill(found, data + block->size, body_end(found));
  lock();
  struct guarded **place = &list;
  while (*place != found)
    place = &(*place)->next;
  *place = found->next;
  atomic_fetch_sub(&blocks, 1);
  unlock();
  munmap(block->start, found->length);
  free(found);
}
