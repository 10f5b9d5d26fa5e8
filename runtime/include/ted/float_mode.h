/* How a thread computes with floats: rounding, small numbers, and what it met since that was cleared.
 *
 * On x86 it is the register MXCSR, on AArch64 FPCR with FPSR above it; elsewhere it is 0 and stays. */
#ifndef TED_FLOAT_MODE_H
#define TED_FLOAT_MODE_H

#include <stdint.h>

#include "ted/runtime.h"

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>

#define TED_FLUSHES (uint64_t)0x8040   /* results to zero, and operands */
#define TED_UNTRAPPED (uint64_t)0x1f80 /* bits that keep the processor from trapping */
#define TED_TRAPPED (uint64_t)0        /* bits that make it trap */
#define TED_MET_OPERAND (uint64_t)0x02 /* that was subnormal */
#define TED_MET_RESULT (uint64_t)0x10  /* below the normal range, and rounded: subnormal, or zero */

static inline uint64_t ted_float_mode(void) { return _mm_getcsr(); }
static inline void ted_set_float_mode(uint64_t mode) { _mm_setcsr((unsigned)mode); }

#elif defined(__aarch64__)
#define TED_FLUSHES ((uint64_t)1 << 24)
#define TED_UNTRAPPED (uint64_t)0
#define TED_TRAPPED (uint64_t)0x9f00
#define TED_MET_OPERAND (uint64_t)0 /* there is a flag for those alone that were flushed */
#define TED_MET_RESULT ((uint64_t)1 << 3 << 32)

static inline uint64_t ted_float_mode(void) {
  uint64_t control, status;
  __asm__ volatile("mrs %0, fpcr\n\tmrs %1, fpsr" : "=r"(control), "=r"(status));
  return control | status << 32;
}

static inline void ted_set_float_mode(uint64_t mode) {
  __asm__ volatile("msr fpcr, %0\n\tmsr fpsr, %1" : : "r"(mode & (uint32_t)-1), "r"(mode >> 32));
}

#else
#define TED_FLUSHES (uint64_t)0
#define TED_UNTRAPPED (uint64_t)0
#define TED_TRAPPED (uint64_t)0
#define TED_MET_OPERAND (uint64_t)0
#define TED_MET_RESULT (uint64_t)0

static inline uint64_t ted_float_mode(void) { return 0; }
static inline void ted_set_float_mode(uint64_t mode) { (void)mode; }
#endif

#define TED_MET_SMALL (TED_MET_OPERAND | TED_MET_RESULT)

/* Writes a mode where the thread has another one: reading takes some nanoseconds, writing more. */
static inline void ted_change_float_mode(uint64_t from, uint64_t to) {
  if (from != to)
    ted_set_float_mode(to);
}

/* The mode of a call by a thread of another one: it rounds as that does, traps nowhere, for code
 * computes what a select then leaves out, and has met nothing. */
static inline uint64_t ted_float_mode_of_call(uint64_t caller, enum ted_subnormals subnormals) {
  uint64_t mode = ((caller & ~TED_TRAPPED) | TED_UNTRAPPED) & ~TED_MET_SMALL;
  if (subnormals == TED_SUBNORMALS_OF_CALLER)
    return mode;
  return subnormals == TED_SUBNORMALS_FLUSH ? mode | TED_FLUSHES : mode & ~TED_FLUSHES;
}

/* What was met of `enum ted_met`: where small numbers are flushed, nothing is. */
static inline int ted_met(uint64_t mode) {
  if ((mode & TED_FLUSHES) == TED_FLUSHES)
    return 0;
  return (mode & TED_MET_OPERAND ? TED_SUBNORMAL_OPERANDS : 0) |
         (mode & TED_MET_RESULT ? TED_SMALL_RESULTS : 0);
}

#endif
