// What bounds every kernel: multiplications and additions per second, and bytes read from memory per second.
#pragma once
#include "vectors.h"

constexpr int CHAINS = REGISTERS == 32 ? 16 : 12;  // independent sums, so that none waits for itself

extern "C" {

// Multiplies, and adds the first number of `result`, `rounds` times; returns how many operations one round has. `result`
// receives what nobody needs. Adding 0 would lead to denormal numbers, which take some processors 100 times as long.
int64_t multiply_and_add(int64_t rounds, float* result) {
  Vector sums[CHAINS];
  for (int c = 0; c < CHAINS; c++) sums[c] = all(1.0f + c);
  const Vector by = all(0.999f), plus = all(result[0]);
  for (int64_t r = 0; r < rounds; r++)
    for (int c = 0; c < CHAINS; c++) sums[c] = sums[c] * by + plus;
  for (int c = 1; c < CHAINS; c++) sums[0] += sums[c];
  store(result, sums[0]);
  return 2 * CHAINS * LANES;
}

// Reads `count` floats, a multiple of 8 vectors, and adds them.
void read_floats(const float* from, int64_t count, float* result) {
  Vector sums[8] = {};
  for (int64_t n = 0; n < count; n += 8 * LANES)
    for (int c = 0; c < 8; c++) sums[c] += load(from + n + c * LANES);
  for (int c = 1; c < 8; c++) sums[0] += sums[c];
  store(result, sums[0]);
}
}
