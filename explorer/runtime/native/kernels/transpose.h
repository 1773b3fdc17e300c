// The transpose of a matrix of floats, a square of vectors at a time.
#pragma once
#include <utility>

#include "vectors.h"

using Lanes = std::make_integer_sequence<int, LANES>;

// Exchanges the squares of S lanes off the diagonal of two rows that are S apart.
template <int S, int... L>
static inline void exchange(Vector& upper, Vector& lower, std::integer_sequence<int, L...>) {
  const Vector a = upper, b = lower;
  upper = __builtin_shufflevector(a, b, ((L & S) ? LANES + L - S : L)...);
  lower = __builtin_shufflevector(a, b, ((L & S) ? LANES + L : L + S)...);
}

template <int S>
static inline void exchange_all(Vector* rows) {
  for (int i = 0; i < LANES; i++)
    if (!(i & S)) exchange<S>(rows[i], rows[i + S], Lanes{});
  if constexpr (S > 1) exchange_all<S / 2>(rows);
}

// to (columns, rows) = from (rows, columns)^T; `ld` is the distance of rows.
static void transpose(const Real* from, int64_t ld_from, int64_t rows, int64_t columns, Real* to, int64_t ld_to) {
  for (int64_t r = 0; r < rows; r += LANES)
    for (int64_t c = 0; c < columns; c += LANES) {
      if (r + LANES <= rows && c + LANES <= columns) {
        Vector square[LANES];
        for (int i = 0; i < LANES; i++) square[i] = load(from + (r + i) * ld_from + c);
        exchange_all<LANES / 2>(square);
        for (int i = 0; i < LANES; i++) store(to + (c + i) * ld_to + r, square[i]);
        continue;
      }
      for (int64_t i = r; i < rows && i < r + LANES; i++)
        for (int64_t j = c; j < columns && j < c + LANES; j++) to[j * ld_to + i] = from[i * ld_from + j];
    }
}

template <int S>
static inline void exchange_and_compare(Vector* rows) {
  for (int i = 0; i < S; i++) {
    exchange<S>(rows[i], rows[i + S], Lanes{});
    rows[i] = larger(rows[i], rows[i + S]);
  }
  if constexpr (S > 1) exchange_and_compare<S / 2>(rows);
}

// The largest elements of `count` rows, at most LANES: that of row i in lane i.
static inline Vector largest_of_rows(const Real* rows, int64_t width, int64_t count) {
  Vector found[LANES];
  for (int64_t i = 0; i < LANES; i++) {
    const Real* row = rows + (i < count ? i : 0) * width;
    found[i] = load(row);
    for (int64_t n = LANES; n < width; n += LANES) found[i] = larger(found[i], load(row + n));
  }
  exchange_and_compare<LANES / 2>(found);
  return found[0];
}
