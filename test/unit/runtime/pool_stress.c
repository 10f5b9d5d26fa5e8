/* Calls of the pool from several threads at once, for ThreadSanitizer: every unit must run once, and
 * all that units wrote must be seen by who called. Exits with 1 otherwise. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "ted/runtime.h"

enum { CALLERS = 3, ROUNDS = 400, MOST_UNITS = 97 };

struct work {
  long counts[MOST_UNITS];
  int inner;
};

static void nothing(void *context, int64_t unit) { (void)context, (void)unit; }

static void count(void *context, int64_t unit) {
  struct work *work = context;
  work->counts[unit]++;
  if (work->inner)
    ted_parallel_for(nothing, NULL, 3);
}

static void *call(void *argument) {
  unsigned seed = (unsigned)(intptr_t)argument;
  struct work work = {{0}, 0};
  for (int round = 0; round < ROUNDS; round++) {
    int units = rand_r(&seed) % MOST_UNITS;
    long before[MOST_UNITS];
    work.inner = rand_r(&seed) % 4 == 0;
    for (int unit = 0; unit < MOST_UNITS; unit++)
      before[unit] = work.counts[unit];
    ted_parallel_for(count, &work, units);
    for (int unit = 0; unit < MOST_UNITS; unit++)
      if (work.counts[unit] != before[unit] + (unit < units))
        fprintf(stderr, "unit %d of %d ran %ld times\n", unit, units,
                work.counts[unit] - before[unit]),
            exit(1);
    if (rand_r(&seed) % 50 == 0)
      ted_threads_set(1 + rand_r(&seed) % 6);
  }
  return NULL;
}

int main(void) {
  pthread_t callers[CALLERS];
  ted_threads_set(4);
  for (int k = 0; k < CALLERS; k++)
    pthread_create(&callers[k], NULL, call, (void *)(intptr_t)(k + 1));
  for (int k = 0; k < CALLERS; k++)
    pthread_join(callers[k], NULL);
  return 0;
}
