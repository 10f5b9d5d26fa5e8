/* Running a compiled function and learning how it ended. */
#ifndef _WIN32
#include <pthread.h>
#endif
#include <stdatomic.h>
#include <stddef.h>

#include "ted/runtime.h"

static _Thread_local struct ted_call *current_call;

/* Faults of threads that a parallel loop started: they run no call of their own. */
static _Atomic int shared_fault_state; /* 0 empty, 1 being written, 2 full */
static struct ted_index_fault shared_fault;

/* A child of a fork has no other thread that would finish writing. */
#ifndef _WIN32
static void forget_half_a_fault(void) {
  int half = 1;
  atomic_compare_exchange_strong(&shared_fault_state, &half, 0);
}

__attribute__((constructor)) static void forget_half_faults_in_children(void) {
  pthread_atfork(NULL, NULL, forget_half_a_fault);
}
#endif

struct ted_call *ted_call_current(void) { return current_call; }

void ted_index_error(int64_t tensor_id, int64_t dim, int64_t value, int64_t extent) {
  struct ted_index_fault fault = {tensor_id, dim, value, extent};
  if (current_call) {
    if (!current_call->faulted)
      current_call->fault = fault;
    current_call->faulted = true;
    return;
  }
  int empty = 0;
  if (!atomic_compare_exchange_strong(&shared_fault_state, &empty, 1))
    return;
  shared_fault = fault;
  atomic_store(&shared_fault_state, 2);
}

static void collect_shared_fault(struct ted_call *call) {
  if (atomic_load(&shared_fault_state) != 2)
    return;
  if (!call->faulted)
    call->fault = shared_fault;
  call->faulted = true;
  atomic_store(&shared_fault_state, 0);
}

enum ted_status ted_call_run(struct ted_call *call, void (*function)(void **), void **arguments) {
  call->outer = current_call;
  call->blocks = NULL;
  call->current = call->peak = call->failed_bytes = 0;
  call->faulted = false;
  current_call = call;
  if (setjmp(call->escape)) {
    current_call = call->outer;
    ted_blocks_abandon(call);
    collect_shared_fault(call);
    return TED_OUT_OF_MEMORY;
  }
  function(arguments);
  current_call = call->outer;
  ted_blocks_abandon(call); /* nothing is live here unless the program leaks */
  collect_shared_fault(call);
  return call->faulted ? TED_INDEX_FAULT : TED_OK;
}

void ted_call_nothing(void **arguments) { (void)arguments; }
