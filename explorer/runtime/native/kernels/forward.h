// The native kernels of circuits: a loop over units, for a tile of rows at a time.
//
// Values of a unit are a tile (rows, width) of Real, in linear scale, and for each row
//   scale: the natural logarithm of what the row was divided by, in double;
//   bound: an upper bound on the absolute error that underflow has caused in any element, in units of the row, besides
//     the relative error that was absorbed;
//   top: the largest element.
// A row is rescaled by a power of two after a unit unless its top is in [2^-KEPT, 2). The rounding of Real arithmetic is
// not part of the bound: it is relative. explorer/runtime/README.md derives the bounds.
//
#pragma once
#include "tile.h"
#include "transpose.h"

constexpr int KEPT = 8;  // rows whose largest element is in [2^-8, 2) are not rescaled
constexpr Real FAR = DROPPED * (1 << 20);  // the largest bound of rows of densities above about 2^-19 of their peak
constexpr Real LARGE = 0x1p-66;            // bounds above it are absorbed, so seldom
constexpr Real TIMES_LARGER = 0x1p34;      // if all elements are so many times larger: 2^14 errors make the tolerance
constexpr double ABSORBED_UNIT = 0x1p-70;  // an error has at most 2^36 of them: no sum of 2^28 errors overflows
constexpr Bits ABOVE_KEPT = ((Bits)(KEPT + 1) << MANTISSA) - 1;  // the bits of the largest less those of 2^-8

struct Tile : TileRows {
  // Of a row without a bound nothing may reach the gradients, not even multiplied by zero.
  void clear(const Unit& unit, int64_t b, Real* row) {
    memset(row, 0, unit.out_width * sizeof(Real));
    scales[unit.slot * capacity + b] = 0;
  }

  // Makes logarithms in `count` rows, at most LANES, values whose largest is 1; `low` was rounded off.
  void from_logarithms(const Unit& unit, int64_t start, int64_t count, const Real* low) {
    Real* out = values_of(unit) + start * unit.out_width;
    Real top[LANES], largest[LANES];
    store(largest, all(1.0f));
    with_vectors(unit.out_width, [&](auto known) {
      const int64_t width = known.value ? known.value * LANES : unit.out_width;
      store(top, largest_of_rows(out, width, count));
      for (int64_t i = 0; i < count; i++)
        for (int64_t n = i * width; n < (i + 1) * width; n += LANES) {
          const Vector below = load(out + n) - top[i];
          store(out + n, exponential(low ? below + load(low + n) : below));
        }
      if (low) store(largest, largest_of_rows(out, width, count));
    });
    for (int64_t i = 0; i < count; i++) {
      const bool is_finite = top[i] - top[i] == 0;
      scales_of(unit)[start + i] = top[i];
      bounds_of(unit)[start + i] = is_finite ? DROPPED : INFINITY;
      tops_of(unit)[start + i] = largest[i];
      if (training && !is_finite) clear(unit, start + i, out + i * unit.out_width);
    }
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf, given to
  // `write`. Many are added in blocks; `low` gets what that rounds off.
  template <int R, class Write>
  void log_densities(const Unit& unit, int64_t start, Real* low, Write write) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t width = unit.out_width;
    Real* out = values_of(unit) + start * width;
    for (int64_t n = 0; n < width; n += LANES)
      for (int64_t block = 0; block < unit.factors; block += BLOCK_DENSITIES) {
        const int64_t end = block + BLOCK_DENSITIES < unit.factors ? block + BLOCK_DENSITIES : unit.factors;
        Vector sums[R];
        for (int64_t c = block; c < end; c++) {
          const Real* mean = circuit.constants + factors[c].rows + n;
          const Vector center = load(mean), factor = load(mean + width), constant = load(mean + 2 * width);
          const Real* x = points + factors[c].variable * capacity + start;
          UNROLL for (int r = 0; r < R; r++) {
            const Vector z = (x[r] - center) * factor;
            sums[r] = c == block ? constant - z * z : sums[r] + (constant - z * z);
          }
        }
        UNROLL for (int r = 0; r < R; r++) {
          Real *to = out + r * width + n, *rest = low + r * width + n;
          if (block) add_exactly(to, rest, sums[r]);
          else store(to, write(sums[r]));
          if (!block && low) store(rest, Vector{});
        }
      }
  }

  // The same for some rows, at most LANES.
  template <class Write>
  void log_densities_of_rows(const Unit& unit, int64_t start, int64_t count, Real* low, Write write) {
    if (count == LANES) return log_densities<LANES>(unit, start, low, write);
    for (int64_t i = 0; i < count; i++)
      log_densities<1>(unit, start + i, low ? low + i * unit.out_width : nullptr, write);
  }

  // The largest logarithm of an element that any x has.
  Real log_peak(const Unit& unit) const {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t width = unit.out_width;
    Vector found = all(-INFINITY);
    for (int64_t n = 0; n < width; n += LANES) {
      Vector sum{};
      for (int64_t c = 0; c < unit.factors; c++) sum += load(circuit.constants + factors[c].rows + 2 * width + n);
      found = larger(found, sum);
    }
    Real elements[LANES], most = -INFINITY;
    store(elements, found);
    for (const Real one : elements) most = one > most ? one : most;
    return most;
  }

  // Rows near the peak of at most BLOCK_DENSITIES densities are made in one go, as multiples of it. From the first row
  // on that is not, logarithms are made first, from which the largest of their row is subtracted.
  void gaussian(const Unit& unit) {
    Real* low = unit.factors > BLOCK_DENSITIES ? scratch : nullptr;
    const Real peak = log_peak(unit);
    bool are_near = !low && peak - peak == 0;
    for (int64_t start = begin; start < rows; start += LANES) {
      const int64_t count = rows - start < LANES ? rows - start : LANES;
      if (are_near) {
        log_densities_of_rows(unit, start, count, nullptr, [&](Vector logarithms) { return exponential(logarithms - peak); });
        for (int64_t b = start; b < start + count; b++) scales_of(unit)[b] = peak, bounds_of(unit)[b] = DROPPED;
        rescale(unit, {start, count});
        for (int64_t b = start; b < start + count; b++) are_near &= bounds_of(unit)[b] <= FAR;
        if (are_near) continue;
      }
      log_densities_of_rows(unit, start, count, low, [](Vector logarithms) { return logarithms; });
      from_logarithms(unit, start, count, low);
    }
  }

  void density(const Unit& unit) {
    for (int64_t start = begin; start < rows; start += LANES) {
      const int64_t count = rows - start < LANES ? rows - start : LANES;
      for (int64_t b = start; b < start + count; b++) {
        const Real* from = input.densities + (first + b) * input.density_floats + unit.weight;
        Real* out = values_of(unit) + b * unit.out_width;
        for (int64_t n = 0; n < unit.out_width; n++) out[n] = n < unit.out_units ? from[n] : -INFINITY;
      }
      from_logarithms(unit, start, count, nullptr);
    }
  }

  void product(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    each_span(unit.out_width, [&](Span span) {
      multiply_rows(factors, unit.factors, span, unit.out_width, nullptr, values_of(unit) + span.start * unit.out_width);
      product_scales(factors, unit.factors, span, scales_of(unit) + span.start);
      product_bounds(factors, unit.factors, span, bounds_of(unit) + span.start);
      rescale(unit, span);
    });
  }

  // to[b] = exp(of[b] - top[b]) for of <= top; zero below exp(LOWEST).
  static void quotients(const double* of, const double* top, int64_t count, Real* to) {
    for (int64_t first = 0; first < count; first += LANES) {
      const int64_t some = count - first < LANES ? count - first : LANES;
      Real nearest[LANES] = {}, rest[LANES] = {};  // what a Real cannot hold is a relative error of the result
      for (int64_t i = 0; i < some; i++) {
        const double difference = of[first + i] - top[first + i];
        nearest[i] = (Real)difference;
        rest[i] = (Real)(difference - nearest[i]);
      }
      const Vector x = load(nearest), found = exponential(x) * (1.0f + load(rest));
      store(nearest, x < LOWEST ? Vector{} : found);
      memcpy(to + first, nearest, some * sizeof(Real));
    }
  }

  // Calls `add(h, factors, by)` for each term: the scale of a sum is the largest one of its terms, and a term is
  // multiplied by the quotient. The bound of a term: `norms[h]` is at least the sum of its weights for an output unit.
  template <class Add>
  void add_terms(const Unit& unit, Span span, Add add) {
    const Operand* operands = circuit.operands + unit.operands;
    double* top = scales_of(unit) + span.start;
    Real* bound = bounds_of(unit) + span.start;
    product_scales(operands, unit.factors, span, top);
    for (int64_t h = 1; h < unit.terms; h++) {
      product_scales(operands + h * unit.factors, unit.factors, span, term_scales);
      INDEPENDENT for (int64_t b = 0; b < span.count; b++) top[b] = term_scales[b] > top[b] ? term_scales[b] : top[b];
    }
    const Real most = ldexp(1, (int)unit.factors), underflow = 4 * (Real)unit.in_units * SMALLEST;
    for (int64_t h = 0; h < unit.terms; h++) {
      const Operand* factors = operands + h * unit.factors;
      product_bounds(factors, unit.factors, span, term_bounds);
      if (unit.terms > 1) {
        product_scales(factors, unit.factors, span, term_scales);
        quotients(term_scales, top, span.count, term_factors);
      }
      const Real norm = norms[h];
      INDEPENDENT for (int64_t b = 0; b < span.count; b++) {
        const Real by = unit.terms > 1 ? term_factors[b] : 1.0f;
        const Real error = by == 0 ? (most + term_bounds[b]) * DROPPED : term_bounds[b] * by + most * SMALLEST;
        bound[b] = (h ? bound[b] : 0) + norm * error + underflow;
      }
      add(h, factors, unit.terms > 1 ? term_factors : nullptr);
    }
  }

  void sum(const Unit& unit) {
    const bool many = Accumulator::needs_compensation(unit.terms * Accumulator::parts_of(unit.in_units));
    each_span(unit.in_width, [&](Span span) {
      Real* exact = many ? scratch + span.count * unit.in_width : nullptr;
      Accumulator total{values_of(unit) + span.start * unit.out_width, exact, span.count, unit.out_width, ahead};
      add_terms(unit, span, [&](int64_t h, const Operand* factors, const Real* by) {
        const bool direct = !by && unit.factors == 1 && factors->slot >= 0;
        if (!direct) multiply_rows(factors, unit.factors, span, unit.in_width, by, scratch);
        total.add(direct ? values(factors->place) + span.start * unit.in_width : scratch, unit.in_width,
                  weights + h * unit.in_units * unit.out_width, unit.in_units);
      });
      total.finish();
      rescale(unit, span);
    });
  }

  void mixing(const Unit& unit) {
    const int64_t width = unit.out_width;
    each_span(width, [&](Span span) {
      const int64_t floats = span.count * width;
      Real* out = values_of(unit) + span.start * width;
      Real* low = Accumulator::needs_compensation(unit.terms) ? scratch + floats : nullptr;
      if (low) memset(low, 0, floats * sizeof(Real));
      add_terms(unit, span, [&](int64_t h, const Operand* factors, const Real* by) {
        const Real* weight = weights + h * width;
        multiply_rows(factors, unit.factors, span, width, by, scratch);
        with_vectors(width, [&](auto known) {
          const int64_t size = known.value ? known.value * LANES : width;
          for (int64_t b = 0; b < span.count; b++)
            for (int64_t n = 0; n < size; n += LANES) {
              const int64_t at = b * size + n;
              const Vector term = load(scratch + at) * load(weight + n);
              if (h && low) add_exactly(out + at, low + at, term);
              else store(out + at, h ? load(out + at) + term : term);
            }
        });
      });
      if (low)
        for (int64_t n = 0; n < floats; n += LANES) store(out + n, load(out + n) + load(low + n));
      rescale(unit, span);
    });
  }

  // A sum over the Kronecker product of two operands: sum_i x_0[i] sum_j w[i][j] x_1[j].
  void tucker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t units = unit.in_units, width = unit.in_width;
    const Real norm = norms[0], underflow = 4 * (Real)(units * units) * SMALLEST;
    each_span(width, [&](Span span) {
      Real* low = units > MANY_PRODUCTS ? scratch + 2 * span.count * width : nullptr;
      const Real* left = rows_in_order(factors[0], span, width, scratch);
      const Real* right = rows_in_order(factors[1], span, width, scratch + span.count * width);
      add_products(left, right, width, weights, units, unit.out_width, values_of(unit) + span.start * unit.out_width,
                   low, span.count, ahead);
      Real* bound = bounds_of(unit) + span.start;
      product_scales(factors, 2, span, scales_of(unit) + span.start);
      product_bounds(factors, 2, span, bound);
      for (int64_t b = 0; b < span.count; b++) bound[b] = norm * (bound[b] + 4 * SMALLEST) + underflow;
      rescale(unit, span);
    });
  }

  // The rows of a span one after the other: copied to `room` from a table.
  const Real* rows_in_order(const Operand& one, Span span, int64_t width, Real* room) const {
    if (one.slot >= 0) return values(one.place) + span.start * width;
    multiply_rows(&one, 1, span, width, nullptr, room);
    return room;
  }

  void kronecker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t right_units = unit.out_units / unit.in_units, right_width = unit.weight;
    for (int64_t b = begin; b < rows; b++) {
      Real* out = values_of(unit) + b * unit.out_width;
      const Real* left = lefts.values + lefts.at(b) * unit.in_width;
      const Real* right = rights.values + rights.at(b) * right_width;
      for (int64_t i = 0; i < unit.in_units; i++)
        for (int64_t j = 0; j < right_units; j++) out[i * right_units + j] = left[i] * right[j];
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    product_scales(factors, 2, all_rows(), scales_of(unit) + begin);
    product_bounds(factors, 2, all_rows(), bounds_of(unit) + begin);
    rescale(unit, all_rows());
  }

  // y[o] = x[i_o]
  void rearrange(const Unit& unit) {
    const Operand* operand = circuit.operands + unit.operands;
    const Rows from = rows_of(*operand);
    const int64_t* read = circuit.units_read + unit.weight;
    for (int64_t b = begin; b < rows; b++) {
      Real* out = values_of(unit) + b * unit.out_width;
      const Real* x = from.values + from.at(b) * unit.in_width;
      for (int64_t n = 0; n < unit.out_units; n++) out[n] = x[read[n]];
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    product_scales(operand, 1, all_rows(), scales_of(unit) + begin);
    product_bounds(operand, 1, all_rows(), bounds_of(unit) + begin);
    rescale(unit, all_rows());
  }

  // y[q P + p] = sum_j w[j][p] x[j Q + q]; `terms` is J, `factors` the padded P.
  void tensor_dot(const Unit& unit) {
    const Operand* operand = circuit.operands + unit.operands;
    const Rows from = rows_of(*operand);
    const int64_t J = unit.terms, Q = unit.in_units / J, P = unit.out_units / Q, padded = unit.factors;
    Real* transposed = scratch;
    Real* product = scratch + Q * J;
    for (int64_t b = begin; b < rows; b++) {
      const Real* x = from.values + from.at(b) * unit.in_width;
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) transposed[q * J + j] = x[j * Q + q];
      Accumulator{product, nullptr, Q, padded, ahead}.add(transposed, J, weights, J);
      Real* out = values_of(unit) + b * unit.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(Real));
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    const Real norm = norms[0], underflow = 4 * (Real)J * SMALLEST;
    product_scales(operand, 1, all_rows(), scales_of(unit) + begin);
    product_bounds(operand, 1, all_rows(), bounds_of(unit) + begin);
    for (int64_t b = begin; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
    rescale(unit, all_rows());
  }

  // Divides the rows of a span by the power of two of their largest element, but for those where that is in
  // [2^-KEPT, 2): most of the time all are, and nothing is written.
  void rescale(const Unit& unit, Span span) {
    for (int64_t start = span.start; start < span.start + span.count; start += LANES) {
      const int64_t left = span.start + span.count - start, count = left < LANES ? left : LANES;
      Real* out = values_of(unit) + start * unit.out_width;
      Real top[LANES], by[LANES];
      Bits exponents[LANES], is_legal[LANES];
      bool are_kept = false;
      with_vectors(unit.out_width, [&](auto known) {
        const int64_t width = known.value ? known.value * LANES : unit.out_width;
        Vector found = largest_of_rows(out, width, count);
        const Integers above = (Integers)found - ((Bits)(BIAS - KEPT) << MANTISSA);
        are_kept = bits_of_any(above | (ABOVE_KEPT - above)) >= 0;  // negative in the lanes where one of the two is
        if (!are_kept) {
          const Integers exponent = (((Integers)found >> MANTISSA) & (2 * BIAS + 1)) - BIAS;
          const Integers legal = (found >= SMALLEST) & (exponent < BIAS);  // not zero, too small, infinite or NaN
          const Integers moved = legal & ((exponent > 0) | (exponent < -KEPT));
          const Vector factor = moved ? (Vector)((BIAS - exponent) << MANTISSA) : all(1.0f);
          found = legal ? found * factor : all(1.0f);
          store(by, factor);
          *(Integers*)exponents = moved & exponent;
          *(Integers*)is_legal = legal;
          for (int64_t i = 0; i < count; i++)
            for (int64_t n = i * width; n < (i + 1) * width; n += LANES) store(out + n, load(out + n) * by[i]);
        }
        if (count == LANES) store(tops_of(unit) + start, found);
        else store(top, found);
      });
      if (count < LANES) memcpy(tops_of(unit) + start, top, count * sizeof(Real));
      for (int64_t i = 0; training && i < count; i++) {
        multipliers[unit.slot * capacity + start + i] = are_kept ? 1 : is_legal[i] ? by[i] : 0;
        if (!are_kept && !is_legal[i]) clear(unit, start + i, out + i * unit.out_width);
      }
      if (are_kept) continue;
      double* scale = scales_of(unit) + start;
      Real* bound = bounds_of(unit) + start;
      INDEPENDENT for (int64_t i = 0; i < count; i++) {
        scale[i] += exponents[i] * LN2;
        bound[i] = is_legal[i] ? bound[i] * by[i] + (exponents[i] ? SMALLEST : 0) : INFINITY;
      }
    }
  }

  void begin_absorbing() { memset(absorbed + begin, 0, (rows - begin) * sizeof(uint64_t)); }

  // Makes large bounds relative: an error of at most e is one of at most e / least of every element, which does not grow
  // as values shrink from unit to unit. The relative errors of a row are added up, those of all units.
  void absorb(const Unit& unit) {
    Real* bound = bounds_of(unit);
    Integers are_large{};
    for (int64_t b = begin; b < rows; b += LANES) are_large |= load(bound + b) > all(LARGE);
    if (is_zero(are_large) || !circuit.absorbs) return;
    for (int64_t b = begin; b < rows; b++) {
      if (!(bound[b] > LARGE && bound[b] < 1)) continue;
      const Real *row = values_of(unit) + b * unit.out_width, above = bound[b] * TIMES_LARGER;
      Real least = INFINITY;
      int64_t n = 0;
      for (; n < unit.out_units && row[n] > above; n++) least = row[n] < least ? row[n] : least;
      if (n < unit.out_units) continue;
      __atomic_fetch_add(absorbed + b, (uint64_t)(bound[b] / least / ABSORBED_UNIT) + 1, __ATOMIC_RELAXED);
      bound[b] = 0;
    }
  }

  // Computes a unit from `weights`.
  void compute(const Unit& unit) {
    switch (unit.kind) {
      case GAUSSIAN: return gaussian(unit);
      case DENSITY: return density(unit);
      case PRODUCT: return product(unit);
      case SUM: return sum(unit);
      case MIXING: return mixing(unit);
      case TUCKER: return tucker(unit);
      case KRONECKER: return kronecker(unit);
      case TENSOR_DOT: return tensor_dot(unit);
      case REARRANGE: return rearrange(unit);
    }
  }

  // Computes units start .. stop-1; what the next one reads is fetched meanwhile.
  void run(int64_t start, int64_t stop) {
    const Unit *unit = circuit.units + start, *end = circuit.units + stop;
    if (unit < end) list_ahead(*unit);
    for (; unit < end; unit++) {
      ahead.finish();
      if (unit + 1 < end) list_ahead(unit[1]);
      weights = circuit.constants + unit->weight;
      norms = circuit.constants + unit->norms;
      compute(*unit);
      absorb(*unit);
    }
  }

  // Lists the constants that a unit reads.
  void list_ahead(const Unit& unit) {
    const Operand* operands = circuit.operands + unit.operands;
    const int64_t count = unit.terms * unit.factors, in = unit.in_units, out = unit.out_width;
    const bool is_sum = unit.kind == SUM || unit.kind == TUCKER;
    const int64_t num_weights = unit.kind == SUM      ? unit.terms * in * out
                                : unit.kind == TUCKER ? in * in * out
                                : unit.kind == MIXING ? unit.terms * out
                                                      : 0;
    ahead.begin();
    if (unit.kind == GAUSSIAN)
      for (int64_t i = 0; i < count; i++) ahead.add(circuit.constants + operands[i].rows, 3 * out * sizeof(Real));
    if (is_sum || unit.kind == MIXING || unit.kind == PRODUCT)
      for (int64_t i = 0; i < count; i++) list_table(operands[i], is_sum ? unit.in_width : out);
    if (num_weights) ahead.add(circuit.constants + unit.weight, num_weights * sizeof(Real));
    ahead.end();
  }

  // Lists what rows read of a table: all of it, in order, if they need most of it.
  void list_table(const Operand& one, int64_t width) {
    if (one.slot >= 0 || one.variable < 0) return;
    const int64_t num_states = circuit.num_values[one.variable];
    const Real* from = circuit.constants + one.rows;
    if (num_states <= 2 * (rows - begin)) ahead.add(from, num_states * width * sizeof(Real));
    else ahead.add_rows(from, width * sizeof(Real), states_of(one) + begin, rows - begin);
    ahead.add(circuit.scales + one.scales, num_states * sizeof(double));
    ahead.add(circuit.constants + one.bounds, num_states * sizeof(Real));
  }

  // Writes the logarithms of the outputs, and which rows are certified; returns how many are not.
  int64_t write(Real tolerance, float* to, uint8_t* certified) const {
    int64_t failed = 0;
    const int64_t width = (circuit.output_units + LANES - 1) / LANES * LANES;
    for (int64_t b = begin; b < rows; b++) {
      bool sure = true;
      const Real left = tolerance - (Real)(absorbed[b] * ABSORBED_UNIT);
      for (int64_t i = 0; i < circuit.num_outputs; i++) {
        const Rows one = rows_of(circuit.operands[circuit.outputs[i]]);
        const Real* from = one.values + one.at(b) * width;
        const double scale_of = one.scales[one.at(b)];
        const Real bound_of = one.bounds[one.at(b)];
        float* result = to + ((first + b) * circuit.num_outputs + i) * circuit.output_units;
        for (int64_t n = 0; n < circuit.output_units; n++) {
          result[n] = (float)(log((double)from[n]) + scale_of);
          sure &= bound_of < left * from[n] && result[n] - result[n] == 0;
        }
      }
      certified[first + b] = sure;
      failed += !sure;
    }
    return failed;
  }
};
