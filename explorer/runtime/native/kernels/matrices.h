// Products of matrices of floats, row by row in memory; widths are whole vectors.
#pragma once
#include "ahead.h"

constexpr int BLOCK_SUMMANDS = 256;          // summands of a matrix product that are added one after the other
constexpr int BLOCK_DENSITIES = 16;          // and of logarithms of densities
constexpr int MANY_PRODUCTS = 128;           // more matrix products than that are added with compensation
constexpr int MANY_PARTS = 32;               // more parts of a sum than that are added with compensation

// C[r][:] (+)= sum_k X[r][k] W[k][:] for R rows and V vectors of columns; T: of the transposed X, X[k][r]. What C has is
// added last: a sum of so many numbers that each is below the rounding of the sum would lose them.
template <int R, int V, bool T, class Later>
static inline void multiply_block(const Real* X, int64_t ldx, const Real* W, int64_t ldw, int64_t K, Real* C,
                                  int64_t ldc, bool accumulate, Later& later) {
  Vector sums[R][V], weights[V];
  const char* const* lines = later.take(K);
  UNROLL for (int v = 0; v < V; v++) weights[v] = load(W + v * LANES);
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int v = 0; v < V; v++) sums[r][v] = weights[v] * X[T ? r : r * ldx];
  for (int64_t k = 1; k < K; k++) {
    Later::fetch(lines, k);
    UNROLL for (int v = 0; v < V; v++) weights[v] = load(W + k * ldw + v * LANES);
    UNROLL for (int r = 0; r < R; r++) {
      const Real x = T ? X[k * ldx + r] : X[r * ldx + k];
      UNROLL for (int v = 0; v < V; v++) sums[r][v] += weights[v] * x;
    }
  }
  if (accumulate)
    UNROLL for (int r = 0; r < R; r++)
      UNROLL for (int v = 0; v < V; v++) sums[r][v] += load(C + r * ldc + v * LANES);
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int v = 0; v < V; v++) store(C + r * ldc + v * LANES, sums[r][v]);
}

template <int R, int V, bool T, class Later>
static void multiply_columns(const Real* X, int64_t ldx, const Real* W, int64_t ldw, int64_t K, Real* C, int64_t ldc,
                             int64_t rows, bool accumulate, Later& later) {
  const int64_t step = T ? 1 : ldx;
  int64_t b = 0;
  for (; b + R <= rows; b += R)
    multiply_block<R, V, T>(X + b * step, ldx, W, ldw, K, C + b * ldc, ldc, accumulate, later);
  for (; b + 4 <= rows; b += 4)
    multiply_block<4, V, T>(X + b * step, ldx, W, ldw, K, C + b * ldc, ldc, accumulate, later);
  for (; b < rows; b++) multiply_block<1, V, T>(X + b * step, ldx, W, ldw, K, C + b * ldc, ldc, accumulate, later);
}

// C (rows, N) (+)= X (rows, K) W (K, N), or with T of X (K, rows); N is a multiple of LANES. `ld` is the distance of rows.
template <bool T, class Later = NothingAhead>
static void multiply(const Real* X, int64_t ldx, const Real* W, int64_t ldw, int64_t K, int64_t N, Real* C,
                     int64_t ldc, int64_t rows, bool accumulate, Later&& later = {}) {
  int64_t n = 0;
  if (REGISTERS == 32)
    for (; n + 4 * LANES <= N; n += 4 * LANES)
      multiply_columns<6, 4, T>(X, ldx, W + n, ldw, K, C + n, ldc, rows, accumulate, later);
  for (; n + 2 * LANES <= N; n += 2 * LANES)
    multiply_columns<REGISTERS == 32 ? 12 : 5, 2, T>(X, ldx, W + n, ldw, K, C + n, ldc, rows, accumulate, later);
  for (; n < N; n += LANES)
    multiply_columns<REGISTERS == 32 ? 16 : 10, 1, T>(X, ldx, W + n, ldw, K, C + n, ldc, rows, accumulate, later);
}

// A sum of many parts: `exact` is memory for a part and for what the parts round off, or null if there are few parts.
struct Accumulator {
  Real* out;
  Real* exact;
  int64_t rows, N;
  Ahead& later;
  bool begun = false;

  static bool needs_compensation(int64_t parts) { return parts > MANY_PARTS; }
  static int64_t parts_of(int64_t summands) { return (summands + BLOCK_SUMMANDS - 1) / BLOCK_SUMMANDS; }

  // out += X (rows, K) W (K, N)
  void add(const Real* X, int64_t ldx, const Real* W, int64_t K) {
    for (int64_t k = 0; k < K; k += BLOCK_SUMMANDS) {
      const int64_t count = K - k < BLOCK_SUMMANDS ? K - k : BLOCK_SUMMANDS;
      if (begun && exact) {
        multiply<false>(X + k, ldx, W + k * N, N, count, N, exact, N, rows, false, later);
        for (int64_t n = 0; n < rows * N; n += LANES) add_exactly(out + n, exact + rows * N + n, load(exact + n));
        continue;
      }
      multiply<false>(X + k, ldx, W + k * N, N, count, N, out, N, rows, begun, later);
      begun = true;
      if (exact) memset(exact + rows * N, 0, rows * N * sizeof(Real));
    }
  }

  void finish() {
    if (exact)
      for (int64_t n = 0; n < rows * N; n += LANES) store(out + n, load(out + n) + load(exact + rows * N + n));
  }
};

// C[r][:] (+)= sum_a left[r][a] (right[r] W_a) for R rows, A matrices W_a (K, V vectors), which are K rows apart. `low`
// gets what additions to C round off, if it is not null.
template <int R, int A, int V>
static inline void multiply_matrices(const Real* left, const Real* right, int64_t ld, const Real* W, int64_t ldw,
                                     int64_t K, Real* C, Real* low, bool accumulate, Ahead& later) {
  Vector sums[R][A * V], weights[A * V];
  const int64_t fetching = K < AHEAD_STEPS ? K : AHEAD_STEPS;
  const char* const* lines = later.take(fetching);
  for (int64_t k = 0; k < K; k++) {
    Ahead::fetch(lines, k < fetching ? k : fetching - 1);
    UNROLL for (int a = 0; a < A; a++)
      UNROLL for (int v = 0; v < V; v++) weights[a * V + v] = load(W + (a * K + k) * ldw + v * LANES);
    UNROLL for (int r = 0; r < R; r++) {
      const Real x = right[r * ld + k];
      UNROLL for (int n = 0; n < A * V; n++) sums[r][n] = k ? sums[r][n] + weights[n] * x : weights[n] * x;
    }
  }
  UNROLL for (int r = 0; r < R; r++)
    UNROLL for (int v = 0; v < V; v++) {
      Vector total = sums[r][v] * left[r * ld];
      UNROLL for (int a = 1; a < A; a++) total += sums[r][a * V + v] * left[r * ld + a];
      Real* to = C + r * ldw + v * LANES;
      if (accumulate && low) add_exactly(to, low + r * ldw + v * LANES, total);
      else store(to, accumulate ? load(to) + total : total);
    }
}

template <int R, int A, int V>
static void multiply_matrices_of_rows(const Real* left, const Real* right, int64_t ld, const Real* W, int64_t ldw,
                                      int64_t K, Real* C, Real* low, int64_t rows, bool accumulate,
                                      Ahead& later) {
  int64_t b = 0;
  for (; b + R <= rows; b += R)
    multiply_matrices<R, A, V>(left + b * ld, right + b * ld, ld, W, ldw, K, C + b * ldw, low ? low + b * ldw : low,
                               accumulate, later);
  for (; b + 4 <= rows; b += 4)
    multiply_matrices<4, A, V>(left + b * ld, right + b * ld, ld, W, ldw, K, C + b * ldw, low ? low + b * ldw : low,
                               accumulate, later);
  for (; b < rows; b++)
    multiply_matrices<1, A, V>(left + b * ld, right + b * ld, ld, W, ldw, K, C + b * ldw, low ? low + b * ldw : low,
                               accumulate, later);
}

template <int V>
static void add_products_of_columns(const Real* left, const Real* right, int64_t ld, const Real* W, int64_t ldw,
                                    int64_t K, Real* C, Real* low, int64_t rows, Ahead& later) {
  constexpr int A = (REGISTERS == 32 ? 4 : 2) / V, R = REGISTERS == 32 ? 6 : 5;
  int64_t i = 0;
  for (; i + A <= K; i += A)
    multiply_matrices_of_rows<R, A, V>(left + i, right, ld, W + i * K * ldw, ldw, K, C, low, rows, i > 0, later);
  for (; i < K; i++)
    multiply_matrices_of_rows<R, 1, V>(left + i, right, ld, W + i * K * ldw, ldw, K, C, low, rows, i > 0, later);
}

// C (rows, N) = sum_i left[:][i] (right W_i) with W_i (K, N), for i < K; `ld` is the distance of rows of both. `low` is
// memory for what the sum rounds off, or null if it has few summands.
static void add_products(const Real* left, const Real* right, int64_t ld, const Real* W, int64_t K, int64_t N,
                         Real* C, Real* low, int64_t rows, Ahead& later) {
  if (low) memset(low, 0, rows * N * sizeof(Real));
  int64_t n = 0;
  if (REGISTERS == 32)
    for (; n + 4 * LANES <= N; n += 4 * LANES)
      add_products_of_columns<4>(left, right, ld, W + n, N, K, C + n, low ? low + n : low, rows, later);
  for (; n + 2 * LANES <= N; n += 2 * LANES)
    add_products_of_columns<2>(left, right, ld, W + n, N, K, C + n, low ? low + n : low, rows, later);
  for (; n < N; n += LANES)
    add_products_of_columns<1>(left, right, ld, W + n, N, K, C + n, low ? low + n : low, rows, later);
  if (low)
    for (int64_t i = 0; i < rows * N; i += LANES) store(C + i, load(C + i) + load(low + i));
}
