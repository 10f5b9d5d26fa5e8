/* A block of memory that compiled programs hold, as the runtime's source files share it. */
#ifndef TED_BLOCK_H
#define TED_BLOCK_H

#include "ted/runtime.h"

struct ted_block {
  struct ted_block *previous, *next;
  struct ted_call *call;
  void *start, *data; /* what is freed, and what the program got */
  int64_t size;
  int64_t room; /* bytes from `start` on, where the block is not guarded */
};

/* Memory as from `malloc`, large pieces from those that were given back; the size is told again. */
void *ted_reuse_take(int64_t size);
void ted_reuse_give(void *start, int64_t size);

/* Blocks between pages that no access survives, in `guard.c`. `exact`: the alignment is a wish. */
struct ted_block *ted_guard_take(int64_t alignment, int64_t size, bool exact);
struct ted_block *ted_guard_find(void *data);
void ted_guard_give(struct ted_block *block);
/* Whether new blocks are guarded. */
bool ted_guard_is_on(void);

#endif
