/* Large blocks that programs gave back, kept for the next ones.
 *
 * The C library returns large blocks to the system, which then hands out each page again, zeroed, at
 * its first touch: a call that makes a large tensor spends as long on that as on its work. Here they
 * stay, in bins by size, so that the next call gets pages that are there. The bins hold so many bytes
 * at most; what would pass that empties them.
 */
#include <stdlib.h>

#include "ted/block.h"
#include "ted/platform.h"

enum { FIRST_SHIFT = 16, STEPS = 8, BINS = (62 - FIRST_SHIFT) * STEPS };

struct kept {
  struct kept *next;
};

static struct kept *bins[BINS];
static int64_t kept_bytes, most_kept_bytes = TED_MOST_KEPT_BYTES;
static ted_atomic bins_lock;

static void lock_bins(void) { ted_lock(&bins_lock); }

static void unlock_bins(void) { ted_unlock(&bins_lock); }

TED_AT_FORK(lock_bins, unlock_bins, unlock_bins)

/* The bin of a size, and how much room its blocks have: an eighth of a power of two more at most. */
static int bin_of(int64_t size, int64_t *room) {
  int shift = FIRST_SHIFT;
  while ((int64_t)1 << (shift + 1) <= size)
    shift++;
  int64_t step = (int64_t)1 << (shift - 3);
  int64_t steps = (size - ((int64_t)1 << shift) + step - 1) / step;
  *room = ((int64_t)1 << shift) + steps * step;
  return (shift - FIRST_SHIFT) * STEPS + (int)steps;
}

static bool is_kept(int64_t size) {
  return size >= (int64_t)1 << FIRST_SHIFT && size < (int64_t)1 << 60;
}

/* Takes all blocks out of the bins, to be freed without the lock. */
static struct kept *empty_bins(void) {
  struct kept *all = NULL;
  for (int bin = 0; bin < BINS; bin++)
    while (bins[bin]) {
      struct kept *one = bins[bin];
      bins[bin] = one->next;
      one->next = all;
      all = one;
    }
  kept_bytes = 0;
  return all;
}

static void free_all(struct kept *all) {
  while (all) {
    struct kept *next = all->next;
    free(all);
    all = next;
  }
}

void *ted_reuse_take(int64_t size) {
  if (!is_kept(size))
    return malloc((size_t)size);
  int64_t room;
  int bin = bin_of(size, &room);
  lock_bins();
  struct kept *found = bins[bin];
  if (found) {
    bins[bin] = found->next;
    kept_bytes -= room;
  }
  unlock_bins();
  if (found)
    return found;
  void *fresh = malloc((size_t)room);
  if (!fresh) { /* what is kept may be what is missing */
    lock_bins();
    struct kept *all = empty_bins();
    unlock_bins();
    free_all(all);
    fresh = malloc((size_t)room);
  }
  return fresh;
}

void ted_reuse_give(void *start, int64_t size) {
  struct kept *all = NULL, *block = start;
  if (is_kept(size)) {
    int64_t room;
    int bin = bin_of(size, &room);
    lock_bins();
    if (kept_bytes + room > most_kept_bytes)
      all = empty_bins();
    if (room <= most_kept_bytes) {
      block->next = bins[bin];
      bins[bin] = block;
      kept_bytes += room;
      block = NULL;
    }
    unlock_bins();
  }
  free(block);
  free_all(all);
}

int64_t ted_memory_set_kept(int64_t bytes) {
  lock_bins();
  int64_t before = most_kept_bytes;
  most_kept_bytes = bytes;
  struct kept *all = empty_bins();
  unlock_bins();
  free_all(all);
  return before;
}
