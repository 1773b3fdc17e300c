// The numbers that kernels compute with: float, or double for the rows that floats are not certified for.
#pragma once
#include "structures.h"  // written by structures.py: records, kinds, limits and sizes

#if !defined(DOUBLES)
typedef int32_t Bits;
constexpr int MANTISSA = 23, BIAS = 127;    // bits after the point, and what is added to exponents
constexpr Real LOG2E = 1.44269504088896341f, SHIFT = 12582912.0f;      // 1.5 * 2^23
constexpr Real LN2_HIGH = 0.693359375f, LN2_LOW = -2.12194440e-4f;     // products of the first with integers are exact
constexpr int DEGREE = 6;                                              // on [-log(2)/2, log(2)/2] within 4e-9 of exp
constexpr Real EXPONENTIAL[] = {1.3814539570e-3f, 8.3687451608e-3f, 4.1668390796e-2f, 1.6666520398e-1f,
                                4.9999993432e-1f, 1.0f,             1.0f};
// The bits of 2^(k/16), less k in the four highest bits of the mantissa, to which k is added again.
constexpr Bits ROOTS[] = {0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
                          0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
#else
typedef int64_t Bits;
constexpr int MANTISSA = 52, BIAS = 1023;
constexpr Real LOG2E = 1.44269504088896341, SHIFT = 6755399441055744.0;  // 1.5 * 2^52
constexpr Real LN2_HIGH = 6.93145751953125e-1, LN2_LOW = 1.42860682030941723212e-6;
constexpr int DEGREE = 13;  // Taylor's: the next term is below 5e-18
constexpr Real EXPONENTIAL[] = {1.0 / 6227020800, 1.0 / 479001600, 1.0 / 39916800, 1.0 / 3628800, 1.0 / 362880,
                                1.0 / 40320,      1.0 / 5040,      1.0 / 720,      1.0 / 120,     1.0 / 24,
                                1.0 / 6,          1.0 / 2,         1.0,            1.0};
#endif
