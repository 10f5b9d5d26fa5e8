/* Blocks between two pages without access, for tests: an access outside ends the process.
 *
 *   | no access | fill ... data (TED_GUARD_END) | no access |
 *   | no access | data ... fill (TED_GUARD_START) | no access |
 *
 * What alignment leaves between the data and a page is filled, and must be so when the block is
 * given back. Slow, and a page or two for each block: nothing but tests turns it on. On Windows it stays
 * off.
 */
#define _DEFAULT_SOURCE
#include <stddef.h>

#include "ted/block.h"
#include "ted/platform.h"

#ifdef _WIN32

int ted_memory_set_guard(int wanted) { return wanted == TED_GUARD_OFF ? TED_GUARD_OFF : -1; }
bool ted_guard_is_on(void) { return false; }
struct ted_block *ted_guard_find(void *data) { return (void)data, NULL; }
void ted_guard_give(struct ted_block *block) { (void)block; }
struct ted_block *ted_guard_take(int64_t alignment, int64_t size, bool exact) {
  return (void)alignment, (void)size, (void)exact, NULL;
}

#else

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { FILL = 0xa5 };

struct guarded {
  struct ted_block block;
  struct guarded *next;
  size_t length; /* of the mapping that starts at `block.start` */
};

static ted_atomic mode;
static ted_atomic blocks; /* in the list, which nobody need walk when it is empty */
static struct guarded *list;
static ted_atomic list_lock;

int ted_memory_set_guard(int wanted) { return (int)ted_swap(&mode, wanted); }

bool ted_guard_is_on(void) { return ted_get(&mode) != TED_GUARD_OFF; }

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
  bool at_end = ted_get(&mode) == TED_GUARD_END;
  made->block.data = at_end ? (void *)last : (void *)body(made);
  ted_lock(&list_lock);
  made->next = list;
  list = made;
  ted_add(&blocks, 1);
  ted_unlock(&list_lock);
  return &made->block;
}

struct ted_block *ted_guard_find(void *data) {
  if (!ted_get(&blocks))
    return NULL;
  ted_lock(&list_lock);
  struct guarded *found = list;
  while (found && found->block.data != data)
    found = found->next;
  ted_unlock(&list_lock);
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
  ted_lock(&list_lock);
  struct guarded **place = &list;
  while (*place != found)
    place = &(*place)->next;
  *place = found->next;
  ted_add(&blocks, -1);
  ted_unlock(&list_lock);
  munmap(block->start, found->length);
  free(found);
}

#endif
