// One number of a vector or a row of floats: its largest element, or its sum.
#pragma once
#include "vectors.h"

#if defined(__AVX512F__)
static inline Vector larger_half(Vector v) {
  v = larger(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
}
#elif defined(__AVX__)
static inline Vector larger_half(Vector v) { return larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)); }
#else
static inline Vector larger_half(Vector v) { return v; }
#endif

// The sum of the elements, in pairs.
static inline float sum_of(Vector v) {
#if defined(__AVX512F__)
  v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#elif defined(__AVX__)
  v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
  return (v[0] + v[2]) + (v[1] + v[3]);
}

// The largest element of a row.
static inline float largest(const float* row, int64_t width) {
  Vector found = load(row);
  for (int64_t n = LANES; n < width; n += LANES) found = larger(found, load(row + n));
  found = larger_half(found);
  float first = found[0] > found[1] ? found[0] : found[1], second = found[2] > found[3] ? found[2] : found[3];
  return first > second ? first : second;
}

// The part of the difference that a float cannot hold is a relative error of the result.
static inline float exponential_of(double difference) {
  if (difference < LOWEST) return 0;
  const float nearest = (float)difference;
  return expf(nearest) * (1.0f + (float)(difference - nearest));
}
