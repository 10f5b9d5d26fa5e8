/* Units of work on every core: one small pool of threads for the whole process.
 *
 * A parallel loop of a compiled program is cut into units by its shapes alone, so that results are
 * the same bits for any number of threads; here they are only handed out to the calling thread and
 * to workers. Each begins with neighbouring units of its own, the same in every loop of as many
 * units, so that what one loop wrote is in the cache of whom the next one has read it, and then
 * takes the last ones of others. One loop at a time has the workers: a loop that finds them busy, or
 * that runs inside of a unit, is run by its caller. Workers look for the next loop for some
 * microseconds and sleep then. Where another library has a team of threads that waits for work
 * (OpenMP's, with torch), its threads are the workers: two teams would take the cores from each
 * other between its loops and ours.
 */
#ifndef _WIN32
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>
#endif
#include <stdlib.h>

#include "ted/call.h"
#include "ted/float_mode.h"
#include "ted/platform.h"

static void run_alone(ted_unit body, void *context, int64_t units) {
  for (int64_t unit = 0; unit < units; unit++)
    body(context, unit);
}

#ifdef _WIN32

int ted_threads_default(void) { return 1; }
int ted_threads_set(int count) { return (void)count, 1; }
int ted_threads_get(void) { return 1; }
void ted_threads_join(ted_team *run, ted_team_number *number) { (void)run, (void)number; }
void ted_parallel_for(ted_unit body, void *context, int64_t units) {
  run_alone(body, context, units);
}

#else

enum {
  SPIN_NANOSECONDS = 100000,  /* before a worker sleeps: as long as some wake-ups */
  SPINS = 16,                 /* pauses before it looks at the clock */
  YIELD_AFTER = 400,          /* pauses for a unit of another thread */
  STACK_BYTES = 4 << 20,      /* frames of compiled code hold at most 1/8 of it */
};

/* Units from `begin` to below `end`, in one word that is read and replaced at once. */
struct span {
  _Alignas(64) _Atomic uint64_t word; /* a line of cache each */
};

static struct {
  /* The loop that has the workers. */
  ted_unit body;
  void *context;
  int64_t units;
  struct ted_call *call; /* of the thread that runs it, NULL if there is none */
  int helpers;           /* workers that may help, the first ones */
  uint64_t float_mode;   /* of the thread that runs it */
  _Atomic uint64_t met;  /* bits of the modes in which the others left */
  struct span spans[TED_MOST_THREADS]; /* what nobody has of the units each thread begins with */
  _Atomic int64_t failed_bytes; /* of an allocation; then no more units are handed out */
  atomic_flag faults;    /* who holds it may look at the next two */
  int64_t faulty_unit;   /* the first unit with an index out of range, or `units` */
  struct ted_index_fault fault;
  /* Who is there. */
  atomic_flag busy;
  _Atomic int open;   /* whether workers may join */
  _Atomic int inside; /* workers that joined */
  _Atomic unsigned generation;
  _Atomic int sleepers;
  int workers;
  pthread_mutex_t mutex;
  pthread_cond_t wake;
} pool = {.faults = ATOMIC_FLAG_INIT, .busy = ATOMIC_FLAG_INIT,
          .mutex = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static _Atomic int wanted_threads; /* 0: not asked for yet */

/* The team of another library, and which of its threads this one is; NULL: there is none. */
static _Atomic(ted_team *) joined_team;
static _Atomic(ted_team_number *) joined_number;

static inline void pause_briefly(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* A child of a fork has none of the workers, whatever they were doing, nor a team's. */
static void forget_workers(void) {
  ted_threads_join(NULL, NULL);
  pool.workers = 0;
  atomic_store(&pool.open, 0);
  atomic_store(&pool.inside, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_flag_clear(&pool.busy);
  atomic_flag_clear(&pool.faults);
  pthread_mutex_init(&pool.mutex, NULL);
  pthread_cond_init(&pool.wake, NULL);
}

TED_AT_FORK(NULL, NULL, forget_workers)

void ted_threads_join(ted_team *run, ted_team_number *number) {
  atomic_store(&joined_number, number);
  atomic_store(&joined_team, number ? run : NULL);
}

static int clamp(long count) {
  return count < 1 ? 1 : count > TED_MOST_THREADS ? TED_MOST_THREADS : (int)count;
}

int ted_threads_default(void) {
#ifdef __linux__
  cpu_set_t mine;
  if (sched_getaffinity(0, sizeof mine, &mine) == 0)
    return clamp(CPU_COUNT(&mine));
#endif
  return clamp(sysconf(_SC_NPROCESSORS_ONLN));
}

static int first_wish(void) {
  const char *text = getenv("TED_NUM_THREADS");
  char *end = NULL;
  long count = text ? strtol(text, &end, 10) : 0;
  bool fits = text && end != text && !*end && count > 0 && count <= TED_MOST_THREADS;
  return fits ? (int)count : ted_threads_default();
}

int ted_threads_get(void) {
  int count = atomic_load(&wanted_threads);
  if (!count) {
    int none = 0;
    count = first_wish();
    if (!atomic_compare_exchange_strong(&wanted_threads, &none, count))
      count = none;
  }
  return count;
}

int ted_threads_set(int count) {
  int before = ted_threads_get();
  atomic_store(&wanted_threads, clamp(count));
  return before;
}

static void note_fault(struct ted_call *call, int64_t unit) {
  while (atomic_flag_test_and_set_explicit(&pool.faults, memory_order_acquire))
    pause_briefly();
  if (unit < pool.faulty_unit) {
    pool.faulty_unit = unit;
    pool.fault = call->fault;
  }
  atomic_flag_clear_explicit(&pool.faults, memory_order_release);
  call->faulted = false;
}

static uint64_t span_of(uint32_t begin, uint32_t end) { return (uint64_t)end << 32 | begin; }

/* The first unit of a span, or its last one, which then is the caller's; -1 if there is none. */
static int64_t take(struct span *span, bool last) {
  uint64_t word = atomic_load(&span->word);
  for (;;) {
    uint32_t begin = (uint32_t)word, end = (uint32_t)(word >> 32);
    if (begin >= end)
      return -1;
    uint64_t rest = last ? span_of(begin, end - 1) : span_of(begin + 1, end);
    if (atomic_compare_exchange_weak(&span->word, &word, rest))
      return last ? end - 1 : begin;
  }
}

/* A unit for this thread: of its own, else the last one of another. */
static int64_t next_unit(int thread) {
  int64_t unit = take(&pool.spans[thread], false);
  for (int step = 1; unit < 0 && step <= pool.helpers; step++)
    unit = take(&pool.spans[(thread + step) % (pool.helpers + 1)], true);
  return unit;
}

static void hand_out(int64_t units, int threads) {
  for (int thread = 0; thread < threads; thread++)
    atomic_store(&pool.spans[thread].word, span_of((uint32_t)(units * thread / threads),
                                                   (uint32_t)(units * (thread + 1) / threads)));
}

/* Runs units until there are none. A failed allocation in one ends the loop. */
static void run_units(int thread) {
  struct ted_call call;
  ted_call_begin(&call, pool.call);
  if (setjmp(call.escape)) {
    atomic_store(&pool.failed_bytes, call.failed_bytes);
    hand_out(0, pool.helpers + 1);
  } else {
    int64_t unit;
    while ((unit = next_unit(thread)) >= 0) {
      pool.body(pool.context, unit);
      if (call.faulted)
        note_fault(&call, unit);
    }
  }
  ted_call_end(&call);
}

/* The same on another thread than the loop's, which learns what was met. */
static void run_units_as_asked(int thread) {
  ted_set_float_mode(pool.float_mode);
  run_units(thread);
  atomic_fetch_or(&pool.met, ted_float_mode() & TED_MET_SMALL);
}

static void help(int number) {
  atomic_fetch_add(&pool.inside, 1);
  if (atomic_load(&pool.open) && number < pool.helpers) {
    run_units_as_asked(number + 1);
  }
  atomic_fetch_sub(&pool.inside, 1);
}

static void sleep_until_after(unsigned seen) {
  pthread_mutex_lock(&pool.mutex);
  atomic_fetch_add(&pool.sleepers, 1);
  while (atomic_load(&pool.generation) == seen)
    pthread_cond_wait(&pool.wake, &pool.mutex);
  atomic_fetch_sub(&pool.sleepers, 1);
  pthread_mutex_unlock(&pool.mutex);
}

static int64_t nanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void spin_while(unsigned seen) {
  int64_t until = nanoseconds() + SPIN_NANOSECONDS;
  do
    for (int spin = 0; spin < SPINS; spin++) {
      if (atomic_load(&pool.generation) != seen)
        return;
      pause_briefly();
    }
  while (nanoseconds() < until);
}

static void *work(void *argument) {
  int number = (int)(intptr_t)argument;
  unsigned seen = 0;
  for (;;) {
    spin_while(seen);
    if (atomic_load(&pool.generation) == seen)
      sleep_until_after(seen);
    seen = atomic_load(&pool.generation);
    help(number);
  }
  return NULL;
}

/* Starts what is missing of `count` workers, as far as there may be threads. */
static void start_workers(int count) {
  if (pool.workers >= count)
    return;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes))
    return;
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, STACK_BYTES);
  sigset_t all, before; /* signals are for the threads of the program */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread;
  while (pool.workers < count &&
         !pthread_create(&thread, &attributes, work, (void *)(intptr_t)pool.workers))
    pool.workers++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
}

static void prepare_loop(ted_unit body, void *context, int64_t units, int helpers) {
  pool.body = body;
  pool.context = context;
  pool.units = pool.faulty_unit = units;
  pool.call = ted_call_current();
  pool.helpers = helpers;
  pool.float_mode = ted_float_mode();
  atomic_store(&pool.met, 0);
  atomic_store(&pool.failed_bytes, -1);
  hand_out(units, helpers + 1);
}

static void open_loop(void) {
  atomic_store(&pool.open, 1);
  atomic_fetch_add(&pool.generation, 1);
  if (atomic_load(&pool.sleepers)) {
    pthread_mutex_lock(&pool.mutex);
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.mutex);
  }
}

/* Nobody joins any more, and all that did have left. */
static void close_loop(void) {
  atomic_store(&pool.open, 0);
  for (int spin = 0; atomic_load(&pool.inside); spin++)
    spin < YIELD_AFTER ? pause_briefly() : (void)sched_yield();
}

/* What a thread of a team does; those that the team has fewer leave their units to the others. */
static void help_in_team(void *unused) {
  (void)unused;
  uint64_t mode = ted_float_mode();
  run_units_as_asked(atomic_load(&joined_number)());
  ted_set_float_mode(mode);
}

static void share(ted_unit body, void *context, int64_t units, int threads) {
  struct ted_call *call = ted_call_current();
  ted_team *team = atomic_load(&joined_team);
  prepare_loop(body, context, units, threads - 1);
  if (team) {
    team(help_in_team, NULL, (unsigned)threads, 0);
  } else {
    start_workers(threads - 1);
    open_loop();
    run_units(0);
    close_loop();
  }
  uint64_t mode = ted_float_mode();
  ted_change_float_mode(mode, mode | atomic_load(&pool.met));
  int64_t failed_bytes = atomic_load(&pool.failed_bytes);
  bool faulted = pool.faulty_unit < units;
  struct ted_index_fault fault = pool.fault;
  atomic_flag_clear_explicit(&pool.busy, memory_order_release);
  if (faulted)
    ted_index_error(fault.tensor_id, fault.dim, fault.value, fault.extent);
  if (failed_bytes >= 0)
    ted_call_fail(call, failed_bytes);
}

void ted_parallel_for(ted_unit body, void *context, int64_t units) {
  struct ted_call *call = ted_call_current();
  int threads = ted_threads_get();
  if (call && call->threads && call->threads < threads)
    threads = call->threads;
  if (threads > units)
    threads = (int)units;
  if (threads < 2 || units > INT32_MAX || atomic_flag_test_and_set_explicit(&pool.busy, memory_order_acquire))
    run_alone(body, context, units);
  else
    share(body, context, units, threads);
}

#endif
