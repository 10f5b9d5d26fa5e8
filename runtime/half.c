/* Conversions of f16 and bf16 that LLVM calls by name where the processor has no instruction.
 *
 * LLVM passes both 16-bit types in the low lane of a vector register on x86-64, whatever the C
 * compiler knows about them; `__m128i` says that to every compiler. Other targets of ours convert
 * in hardware or have the names in their compiler's runtime.
 */
#if defined(__x86_64__)
#include <emmintrin.h>
#include <stdint.h>
#include <string.h>

#include "ted/runtime.h"

typedef __m128i half_register;

static uint16_t low_lane(half_register value) { return (uint16_t)_mm_cvtsi128_si32(value); }

static half_register in_low_lane(uint32_t bits) { return _mm_cvtsi32_si128((int)bits); }

static uint64_t double_bits(double value) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Rounds a double once, to nearest even, into a format with `mantissa` bits and exponent bias
 * `bias`; the largest exponent field is `2 * bias + 1`. */
static uint16_t round_double(double value, int mantissa, int bias) {
  uint64_t bits = double_bits(value);
  uint16_t sign = (uint16_t)(bits >> 63 << 15);
  int64_t exponent = (int64_t)(bits >> 52 & 0x7ff) - 1023;
  uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
  uint16_t infinity = (uint16_t)((2 * bias + 1) << mantissa);
  if (exponent == 1024) /* infinity or NaN: keep the top of a NaN's payload, made quiet */
    return sign | infinity |
           (uint16_t)(fraction ? (1u << (mantissa - 1)) | (fraction >> (52 - mantissa)) : 0);
  if (exponent > bias)
    return sign | infinity;
  int shift = 52 - mantissa;
  uint64_t significand = fraction;
  if (exponent >= 1 - bias) {
    significand |= (uint64_t)(exponent + bias) << 52; /* the exponent field rides along */
  } else {
    shift += (int)(1 - bias - exponent > 54 ? 54 : 1 - bias - exponent);
    significand |= exponent == -1023 ? 0 : UINT64_C(1) << 52;
  }
  if (shift > 63)
    return sign;
  uint64_t kept = significand >> shift;
  uint64_t rest = significand & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  return sign | (uint16_t)kept; /* a carry out of the mantissa is the next exponent */
}

static float half_to_float(uint16_t half) {
  uint32_t sign = (uint32_t)(half & 0x8000) << 16;
  uint32_t exponent = half >> 10 & 0x1f, fraction = half & 0x3ff;
  if (exponent == 0) { /* subnormal: exact in float */
    float value = (float)fraction * 0x1p-24f;
    return sign ? -value : value;
  }
  uint32_t bits = sign | (exponent == 31 ? 0x7f800000 : (exponent + 112) << 23) | fraction << 13;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

TED_EXPORT half_register __truncsfhf2(float value) {
  return in_low_lane(round_double(value, 10, 15));
}

TED_EXPORT half_register __truncdfhf2(double value) {
  return in_low_lane(round_double(value, 10, 15));
}

TED_EXPORT half_register __truncsfbf2(float value) {
  return in_low_lane(round_double(value, 7, 127));
}

TED_EXPORT half_register __truncdfbf2(double value) {
  return in_low_lane(round_double(value, 7, 127));
}

TED_EXPORT float __extendhfsf2(half_register value) { return half_to_float(low_lane(value)); }
#else
typedef int ted_half_is_native; /* ISO C wants a declaration in every file */
#endif
