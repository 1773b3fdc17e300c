// The gradient of a softmax.
#pragma once
#include "reductions.h"

extern "C" {

// Rows start .. stop-1 of the gradient (rows, count) of a softmax become those of its operand: p (g - sum g p).
void softmax_back(const float* probabilities, int64_t start, int64_t stop, int64_t count, float* gradient) {
  const int64_t whole = count / LANES * LANES;
  for (int64_t row = start; row < stop; row++) {
    const float* p = probabilities + row * count;
    float* g = gradient + row * count;
    Vector sums[4] = {};
    int64_t n = 0;
    for (; n + 4 * LANES <= count; n += 4 * LANES)
      UNROLL for (int i = 0; i < 4; i++) sums[i] += load(g + n + i * LANES) * load(p + n + i * LANES);
    for (; n < whole; n += LANES) sums[0] += load(g + n) * load(p + n);
    float sum = sum_of((sums[0] + sums[1]) + (sums[2] + sums[3]));
    for (; n < count; n++) sum += g[n] * p[n];
    for (n = 0; n < whole; n += LANES) store(g + n, (load(g + n) - sum) * load(p + n));
    for (; n < count; n++) g[n] = (g[n] - sum) * p[n];
  }
}
}
