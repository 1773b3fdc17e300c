// The softmax of weights, computed as they are read, and its gradient.
#pragma once
#include "reductions.h"

constexpr int GUARD = 60;           // exponentials are 2^GUARD times as large, so that small ones keep their bits
constexpr int64_t BLOCK_ROWS = 16;  // elements of a column that are added one after the other

// `softmax_of_columns` for V vectors; `ld` is the distance of rows.
template <int V>
static void softmax_of_vectors(float* logits, int64_t rows, int64_t ld, float* tops, float* factors) {
  Vector top[V], sums[V] = {};
  UNROLL for (int v = 0; v < V; v++) top[v] = load(logits + v * LANES);
  for (int64_t i = 1; i < rows; i++)
    UNROLL for (int v = 0; v < V; v++) top[v] = larger(top[v], load(logits + i * ld + v * LANES));
  for (int64_t first = 0; first < rows; first += BLOCK_ROWS) {
    Vector parts[V] = {};
    for (int64_t i = first; i < rows && i < first + BLOCK_ROWS; i++)
      UNROLL for (int v = 0; v < V; v++) {
        const Vector one = exponential<GUARD>(load(logits + i * ld + v * LANES) - top[v]);
        store(logits + i * ld + v * LANES, one);
        parts[v] += one;
      }
    UNROLL for (int v = 0; v < V; v++) sums[v] += parts[v];
  }
  UNROLL for (int v = 0; v < V; v++) {
    store(tops + v * LANES, top[v]);
    store(factors + v * LANES, sums[v] = 1.0f / sums[v]);
  }
  for (int64_t i = 0; i < rows; i++)
    UNROLL for (int v = 0; v < V; v++)
      store(logits + i * ld + v * LANES, load(logits + i * ld + v * LANES) * sums[v]);
}

// Logits (rows, width) become the softmax of each column: 2^GUARD exp(logit - top) factor. A column with a logit that is
// NaN or inf, or only with -inf, becomes NaN.
static void softmax_of_columns(float* logits, int64_t rows, int64_t width, float* tops, float* factors) {
  int64_t n = 0;
  for (; n + 4 * LANES <= width; n += 4 * LANES) softmax_of_vectors<4>(logits + n, rows, width, tops + n, factors + n);
  for (; n + 2 * LANES <= width; n += 2 * LANES) softmax_of_vectors<2>(logits + n, rows, width, tops + n, factors + n);
  for (; n < width; n += LANES) softmax_of_vectors<1>(logits + n, rows, width, tops + n, factors + n);
}

// to (rows, count) = the softmax of the rows of `logits`, with the numbers of `softmax_of_columns` for each of them.
static void softmax_of_rows(const float* logits, int64_t rows, int64_t count, const float* tops, const float* factors,
                            float* to) {
  if (count % LANES == 0) {
    for (int64_t row = 0; row < rows; row++)
      for (int64_t n = row * count; n < (row + 1) * count; n += LANES)
        store(to + n, exponential<GUARD>(load(logits + n) - tops[row]) * factors[row]);
    return;
  }
  for (int64_t start = 0, row = 0, column = 0; start < rows * count; start += LANES) {
    const int64_t some = rows * count - start < LANES ? rows * count - start : LANES;
    float below[LANES] = {}, by[LANES] = {};
    for (int64_t i = 0; i < some; i++) {
      below[i] = logits[start + i] - tops[row];
      by[i] = factors[row];
      if (++column == count) column = 0, row++;
    }
    store(below, exponential<GUARD>(load(below)) * load(by));
    memcpy(to + start, below, some * sizeof(float));
  }
}

// The gradient (rows, count) of a softmax becomes that of its operand: p (g - sum g p).
static void softmax_back(const float* probabilities, int64_t rows, int64_t count, float* gradient) {
  const int64_t whole = count / LANES * LANES;
  for (int64_t row = 0; row < rows; row++) {
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
