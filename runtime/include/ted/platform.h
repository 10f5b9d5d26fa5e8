/* What compilers and systems spell differently, for the runtime's source files.
 *
 * Integers that several threads change are C11's, and where a compiler has none (MSVC, unless it is
 * asked to) those of Windows; a pointer is kept as an integer. Every order is the strictest one, but
 * for locks, which are held for a few instructions.
 */
#ifndef TED_PLATFORM_H
#define TED_PLATFORM_H

#include <stdbool.h>
#include <stdint.h>

#if defined(_MSC_VER) && !defined(__clang__)
#define TED_THREAD_LOCAL __declspec(thread)
#else
#define TED_THREAD_LOCAL _Thread_local
#endif

/* At the level of a file: what a fork does before it, and after it in parent and child. */
#ifdef _WIN32
#define TED_AT_FORK(before, in_parent, in_child)
#else
#include <pthread.h>
#define TED_AT_FORK(before, in_parent, in_child)                                                   \
  __attribute__((constructor)) static void ted_at_fork(void) {                                     \
    pthread_atfork(before, in_parent, in_child);                                                   \
  }
#endif

#ifndef __STDC_NO_ATOMICS__
#include <stdatomic.h>

typedef _Atomic int64_t ted_atomic;

static inline int64_t ted_get(ted_atomic *place) { return atomic_load(place); }

static inline int64_t ted_swap(ted_atomic *place, int64_t value) {
  return atomic_exchange(place, value);
}

/* Adds, and returns what was there before. */
static inline int64_t ted_add(ted_atomic *place, int64_t value) {
  return atomic_fetch_add(place, value);
}

/* Puts a value where there is still what was `seen`; else false, and `seen` is what is there. */
static inline bool ted_replace(ted_atomic *place, int64_t *seen, int64_t value) {
  return atomic_compare_exchange_strong(place, seen, value);
}

static inline void ted_lock(ted_atomic *lock) {
  while (atomic_exchange_explicit(lock, 1, memory_order_acquire)) {
  }
}

static inline void ted_unlock(ted_atomic *lock) {
  atomic_store_explicit(lock, 0, memory_order_release);
}
#else
#include <intrin.h>

typedef volatile int64_t ted_atomic;

static inline int64_t ted_get(ted_atomic *place) { return _InterlockedExchangeAdd64(place, 0); }

static inline int64_t ted_swap(ted_atomic *place, int64_t value) {
  return _InterlockedExchange64(place, value);
}

static inline int64_t ted_add(ted_atomic *place, int64_t value) {
  return _InterlockedExchangeAdd64(place, value);
}

static inline bool ted_replace(ted_atomic *place, int64_t *seen, int64_t value) {
  int64_t found = _InterlockedCompareExchange64(place, value, *seen);
  bool same = found == *seen;
  *seen = found;
  return same;
}

static inline void ted_lock(ted_atomic *lock) {
  while (ted_swap(lock, 1)) {
  }
}

static inline void ted_unlock(ted_atomic *lock) { ted_swap(lock, 0); }
#endif

#endif
