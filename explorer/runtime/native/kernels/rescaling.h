// What is done with the rows of a call once they are computed: they are rescaled, zeros are told from what underflowed, and
// large bounds become relative.
#pragma once
#include "tile.h"
#include "transpose.h"

constexpr int KEPT = 8;  // rows with the largest element in [2^-8, 2) are not rescaled
constexpr Real LARGE = 0x1p-66;            // bounds above it are absorbed, so seldom
constexpr Real TIMES_LARGER = 0x1p34;      // if all elements are so many times larger: 2^14 errors make the tolerance
constexpr double ABSORBED_UNIT = 0x1p-70;  // an error has at most 2^36 of them: no sum of 2^28 errors overflows
constexpr Bits ABOVE_KEPT = ((Bits)(KEPT + 1) << MANTISSA) - 1;  // the bits of the largest less those of 2^-8

struct RescaledRows : TileRows {
  // Of a row without a bound nothing may reach the gradients, not even multiplied by zero.
  void clear(const KernelCall& call, int64_t b, Real* row) {
    memset(row, 0, call.out_width * sizeof(Real));
    scales[call.slot * capacity + b] = 0;
  }

  // Divides the rows of a span by the power of two of their largest element, but for those where that is in
  // [2^-KEPT, 2): most of the time all are, and nothing is written.
  void rescale(const KernelCall& call, Span span) {
    const bool needs_elements = training || call.kind == GAUSSIAN;  // of rows that are too small, or they are made again
    for (int64_t start = span.start; start < span.start + span.count; start += LANES) {
      const int64_t left = span.start + span.count - start, count = left < LANES ? left : LANES;
      Real* out = values_of(call) + start * call.out_width;
      Real top[LANES], by[LANES];
      Bits exponents[LANES], is_legal[LANES], is_small[LANES];
      bool are_kept = false, any_zero = false;
      with_vectors(call.out_width, [&](auto known) {
        const int64_t width = known.value ? known.value * LANES : call.out_width;
        Vector found = largest_of_rows(out, width, count);
        const Integers above = (Integers)found - ((Bits)(BIAS - KEPT) << MANTISSA);
        are_kept = bits_of_any(above | (ABOVE_KEPT - above)) >= 0;  // negative in the lanes where one of the two is
        if (!are_kept) {
          const Integers exponent = (((Integers)found >> MANTISSA) & (2 * BIAS + 1)) - BIAS;
          const Integers legal = (found >= SMALLEST) & (exponent < BIAS);  // not zero, too small, infinite or NaN
          const Integers moved = legal & ((exponent > 0) | (exponent < -KEPT));
          const Vector factor = moved ? (Vector)((BIAS - exponent) << MANTISSA) : all(1.0f);
          *(Integers*)is_small = found < SMALLEST;
          any_zero = !is_zero(found == 0);
          found = legal ? found * factor : found == 0 ? found : all(1.0f);
          store(by, factor);
          *(Integers*)exponents = moved & exponent;
          *(Integers*)is_legal = legal;
          for (int64_t i = 0; i < count; i++)
            for (int64_t n = i * width; n < (i + 1) * width; n += LANES) store(out + n, load(out + n) * by[i]);
        }
        if (count == LANES) store(tops_of(call) + start, found);
        else store(top, found);
      });
      if (count < LANES) memcpy(tops_of(call) + start, top, count * sizeof(Real));
      for (int64_t i = 0; training && i < count; i++) {
        multipliers[call.slot * capacity + start + i] = are_kept ? 1 : is_legal[i] ? by[i] : 0;
        if (!are_kept && !is_legal[i]) clear(call, start + i, out + i * call.out_width);
      }
      if (are_kept) continue;
      double* scale = scales_of(call) + start;
      Real* bound = bounds_of(call) + start;
      INDEPENDENT for (int64_t i = 0; i < count; i++) {
        scale[i] += exponents[i] * LN2;
        const Real small = needs_elements ? INFINITY : bound[i];
        bound[i] = is_legal[i] ? bound[i] * by[i] + (exponents[i] ? SMALLEST : 0) : is_small[i] ? small : INFINITY;
      }
      if (any_zero && !needs_elements) find_exact_zeros(call, start, count);
    }
  }

  // Of rows that are zero, which no underflow has made so: each of their terms has a factor that is exactly zero, which is
  // what a largest element and a bound of zero say.
  void find_exact_zeros(const KernelCall& call, int64_t start, int64_t count) {
    if (call.kind != PRODUCT && call.kind != SUM && call.kind != MIXING) return;
    const Operand* operands = circuit.operands + call.operands;
    Real* bound = bounds_of(call) + start;
    Integers are_exact = load(tops_of(call) + start) == 0;
    for (int64_t h = 0; h < call.terms && !is_zero(are_exact); h++) {
      Integers are_zero{};
      for (int64_t c = 0; c < call.factors; c++) are_zero |= exact_zeros(rows_of(operands[h * call.factors + c]), start, count);
      are_exact &= are_zero;
    }
    if (is_zero(are_exact)) return;
    Bits is_exact[LANES];
    *(Integers*)is_exact = are_exact;
    double* scale = scales_of(call) + start;
    for (int64_t i = 0; i < count; i++) {
      bound[i] = is_exact[i] ? 0 : bound[i];
      scale[i] = is_exact[i] ? ZERO_SCALE : scale[i];
    }
  }

  // Of rows of an operand, at most LANES, those that are exactly zero.
  static Integers exact_zeros(const Rows& one, int64_t start, int64_t count) {
    if (!one.index) {
      const Integers without_bound = load(one.bounds + one.start + start) == 0;
      return one.largest ? without_bound & (load(one.largest + one.start + start) == 0) : without_bound;
    }
    Bits found[LANES] = {};
    for (int64_t i = 0; i < count; i++) found[i] = -(Bits)(one.bounds[one.index[start + i]] == 0);
    return *(Integers*)found;
  }

  void begin_absorbing() { memset(absorbed + begin, 0, (rows - begin) * sizeof(uint64_t)); }

  // Makes large bounds relative: an error of at most e is one of at most e / least of every element, which does not grow
  // as values shrink from call to call. The relative errors of all calls are added up for each row.
  void absorb(const KernelCall& call) {
    Real* bound = bounds_of(call);
    Integers are_large{};
    for (int64_t b = begin; b < rows; b += LANES) are_large |= load(bound + b) > all(LARGE);
    if (is_zero(are_large) || !circuit.absorbs) return;
    for (int64_t b = begin; b < rows; b++) {
      if (!(bound[b] > LARGE && bound[b] < 1)) continue;
      const Real *row = values_of(call) + b * call.out_width, above = bound[b] * TIMES_LARGER;
      Real least = INFINITY;
      int64_t n = 0;
      for (; n < call.out_units && row[n] > above; n++) least = row[n] < least ? row[n] : least;
      if (n < call.out_units) continue;
      __atomic_fetch_add(absorbed + b, (uint64_t)(bound[b] / least / ABSORBED_UNIT) + 1, __ATOMIC_RELAXED);
      bound[b] = 0;
    }
  }
};
