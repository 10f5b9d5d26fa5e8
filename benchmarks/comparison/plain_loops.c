// What a core can do: multiply-adds on registers, and a copy. Compiled by `machine.py`.
#include <string.h>

#define CHAINS 16
typedef float f32 __attribute__((vector_size(64)));
typedef double f64 __attribute__((vector_size(64)));

#define LOOP(NAME, VECTOR, SCALAR)                               \
  SCALAR NAME(long count) {                                      \
    VECTOR sums[CHAINS], factor = {0};                           \
    factor = factor + (SCALAR)0.999;                                     \
    for (int k = 0; k < CHAINS; ++k) sums[k] = factor + (SCALAR)k;       \
    for (long i = 0; i < count; ++i)                             \
      for (int k = 0; k < CHAINS; ++k)                           \
        sums[k] = sums[k] * factor + factor;                     \
    SCALAR total = 0;                                            \
    for (int k = 0; k < CHAINS; ++k) total += sums[k][0];        \
    return total;                                                \
  }

LOOP(multiply_add_f32, f32, float)
LOOP(multiply_add_f64, f64, double)

void copy(char *to, const char *from, long bytes) { memcpy(to, from, bytes); }
