/* Running a compiled function and learning how it ended. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ted/call.h"
#include "ted/float_mode.h"
#include "ted/platform.h"

static TED_THREAD_LOCAL struct ted_call *current_call;

struct ted_call *ted_call_current(void) { return current_call; }

void ted_index_error(int64_t tensor_id, int64_t dim, int64_t value, int64_t extent) {
  if (!current_call || current_call->faulted)
    return;
  current_call->fault = (struct ted_index_fault){tensor_id, dim, value, extent};
  current_call->faulted = true;
}

void ted_call_begin(struct ted_call *call, struct ted_call *whole) {
  call->outer = current_call;
  call->whole = whole;
  call->blocks = NULL;
  call->current = call->peak = call->failed_bytes = 0;
  call->faulted = false;
  call->threads = 0;
  current_call = call;
}

void ted_call_end(struct ted_call *call) {
  current_call = call->outer;
  ted_blocks_abandon(call); /* nothing is live here unless the program leaks, or left early */
}

_Noreturn static void leave(struct ted_call *call, enum ted_status why) {
  call->left = why;
  longjmp(call->escape, 1);
}

void ted_call_fail(struct ted_call *call, int64_t bytes) {
  if (!call) {
    fprintf(stderr, "ted: out of memory: cannot allocate %lld bytes\n", (long long)bytes);
    abort();
  }
  call->failed_bytes = bytes;
  leave(call, TED_OUT_OF_MEMORY);
}

static int (*loop_poll)(void);

void ted_loop_set_poll(int (*poll)(void)) { loop_poll = poll; }

/* Who is asked may compute something. */
static int poll_as_caller(const struct ted_call *call) {
  uint64_t mode = ted_float_mode();
  ted_set_float_mode(call->float_mode);
  int ends = loop_poll();
  ted_set_float_mode(mode);
  return ends;
}

/* Looks at the clock so rarely that it costs nothing, and so often that a loop ends at once. */
void ted_loop_turn(int64_t turn) {
  enum { SOON = 10 * 1000 * 1000, LATE = 4 * SOON }; /* nanoseconds */
  static TED_THREAD_LOCAL int64_t next, stride, before;
  if (turn == 0)
    next = stride = 1, before = ted_nanoseconds();
  if (turn < next && turn < TED_MOST_TURNS)
    return;
  int64_t now = ted_nanoseconds();
  if (now - before < SOON)
    stride *= 2;
  else if (now - before > LATE && stride > 1)
    stride /= 2;
  next = turn + stride;
  before = now;
  if (!current_call || current_call->whole) /* a thread's part of a call ends with the others */
    return;
  if (turn >= TED_MOST_TURNS)
    leave(current_call, TED_ENDLESS);
  if (loop_poll && poll_as_caller(current_call))
    leave(current_call, TED_INTERRUPTED);
}

enum ted_status ted_call_run(struct ted_call *call, void (*function)(void **), void **arguments,
                             int threads, enum ted_subnormals subnormals) {
  ted_call_begin(call, NULL);
  call->threads = threads;
  call->float_mode = ted_float_mode();
  ted_change_float_mode(call->float_mode, ted_float_mode_of_call(call->float_mode, subnormals));
  if (!setjmp(call->escape)) {
    function(arguments);
    call->left = call->faulted ? TED_INDEX_FAULT : TED_OK;
  }
  uint64_t mode = ted_float_mode();
  call->met = ted_met(mode);
  ted_change_float_mode(mode, call->float_mode);
  ted_call_end(call);
  return call->left;
}

int64_t ted_small_met(void) {
  uint64_t mode = ted_float_mode();
  ted_change_float_mode(mode, mode & ~TED_MET_SMALL);
  return ted_met(mode);
}

int64_t ted_nanoseconds(void) {
  struct timespec now;
  return timespec_get(&now, TIME_UTC) ? (int64_t)now.tv_sec * 1000000000 + now.tv_nsec : 0;
}

void ted_call_nothing(void **arguments) { (void)arguments; }
