// The native kernels of circuits: a loop over units, for a tile of rows at a time.
//
// Values of a unit are a tile (rows, width) of Real, in linear scale, and for each row
//   scale: the natural logarithm of what the row was divided by, in double;
//   bound: an upper bound on the absolute error that underflow has caused in any element, in units of the row.
// A row is rescaled by a power of two after each unit, so that its largest element is in [1, 2). The rounding of Real
// arithmetic is not part of the bound: it is relative. explorer/runtime/README.md derives the bounds.
//
#pragma once
#include "circuit.h"
#include "matrices.h"
#include "transpose.h"

constexpr int SPAN_ROWS = 48;    // rows that a unit is computed for at a time: they stay in the nearest cache
constexpr int SPAN_WIDTH = 128;  // unless its inputs are wider: then its weights are read once for all rows
constexpr int PREFETCH = 8;      // rows of a table are fetched into the cache so many rows ahead
constexpr int MAX_TABLE_FLOATS = 1 << 15;  // larger tables are not read as a whole

// An operand for all rows of a tile: row b is at `values + index[b] * width`, and its scale at `scales[index[b]]`,
// as its bound.
struct Rows {
  const Real* values;
  const double* scales;
  const Real* bounds;
  const int32_t* index;
  bool is_table;
};

// Rows start .. start+count-1 of a tile.
struct Span {
  int64_t start, count;
};

struct Tile {
  const Circuit& circuit;
  const Input& input;
  int64_t first, rows, capacity;
  Real* slots;
  double* scales;
  Real* bounds;
  Real* scratch;
  double* term_scales;  // of the present term
  Real* term_bounds;
  Real* term_factors;
  int32_t* order;   // 0, 1, 2 ..
  int32_t* zeros;
  int32_t* numbers;  // first, first + 1 ..: of the rows in the batch
  int32_t* states;  // (num_discrete, capacity)
  Real* points;    // (num_continuous, capacity)
  const Training* training = nullptr;
  Real* multipliers;    // in training: what the rows of each slot were multiplied by (num_slots, capacity)
  const Real* weights;  // of the present unit: (input units, output units)
  const Real* norms;    // for each term, at least the sum of the weights of an output unit

  Real* values(int64_t place) const { return slots + place * capacity; }
  Real* values_of(const Unit& unit) const { return values(unit.place); }
  double* scales_of(const Unit& unit) const { return scales + unit.slot * capacity; }
  Real* bounds_of(const Unit& unit) const { return bounds + unit.slot * capacity; }
  Rows rows_of(const Operand& one) const {
    if (one.slot >= 0) return {values(one.place), scales + one.slot * capacity, bounds + one.slot * capacity, order, false};
    return {circuit.constants + one.rows, circuit.scales + one.scales, circuit.constants + one.bounds,
            one.variable < 0 ? zeros : one.by_row ? numbers : states + one.variable * capacity, true};
  }

  // Copies the variables, one after the other. False if a value is none of its variable.
  template <class T>
  bool read_variables() {
    bool legal = true;
    for (int64_t start = 0; start < rows; start += LANES) {  // so that lines of the cache are written at once
      const int64_t stop = rows - start < LANES ? rows : start + LANES;
      const T* x = (const T*)input.x + first * input.columns;
      for (int64_t v = 0; v < circuit.num_discrete; v++)
        for (int64_t b = start; b < stop; b++) {
          const T value = x[b * input.columns + circuit.discrete[v]];
          const bool inside = value >= 0 && value < (T)circuit.num_values[v];
          const int32_t state = inside ? (int32_t)value : 0;
          legal &= inside && (T)state == value;
          states[v * capacity + b] = state;
        }
      for (int64_t v = 0; v < circuit.num_continuous; v++)
        for (int64_t b = start; b < stop; b++) {
          const Real value = (Real)x[b * input.columns + circuit.continuous[v]];
          legal &= value == value;
          points[v * capacity + b] = value;
        }
    }
    return legal;
  }

  Span all_rows() const { return {0, rows}; }

  // Calls `compute` for some rows after the others.
  template <class Compute>
  void each_span(int64_t width, Compute compute) {
    const int64_t size = width > SPAN_WIDTH ? capacity : SPAN_ROWS;
    for (int64_t start = 0; start < rows; start += size) {
      const Span span{start, rows - start < size ? rows - start : size};
      
      compute(span);
    }
  }

  // Reads tables of which products need most rows, so that they are in the cache: in order this is faster than row by
  // row. In training the rows have just been made.
  void read_tables(const Unit& unit) const {
    for (int64_t i = 0; !training && i < unit.terms * unit.factors; i++) {
      const Operand& one = circuit.operands[unit.operands + i];
      if (one.slot >= 0 || one.variable < 0) continue;
      const int64_t states = circuit.num_values[one.variable], floats = states * unit.in_width;
      if (states > 2 * rows || floats > MAX_TABLE_FLOATS) continue;
      const Real* from = circuit.constants + one.rows;
      Vector read{};
      for (int64_t n = 0; n < floats; n += LANES) read += load(from + n);
      KEEP(read);
    }
  }

  // Calls `compute(b, at)` for the rows of a span: row b of it is row `at` of an operand.
  template <class Compute>
  static void each_row(const Rows& one, Span span, Compute compute) {
    if (one.is_table) for (int64_t b = 0; b < span.count; b++) compute(b, (int64_t)one.index[span.start + b]);
    else for (int64_t b = 0; b < span.count; b++) compute(b, span.start + b);
  }

  void product_scales(const Operand* factors, int64_t count, Span span, double* to) const {
    for (int64_t c = 0; c < count; c++) {
      const Rows one = rows_of(factors[c]);
      const double* from = one.scales;
      if (c == 0) each_row(one, span, [=](int64_t b, int64_t at) { to[b] = from[at]; });
      else each_row(one, span, [=](int64_t b, int64_t at) { to[b] += from[at]; });
    }
  }

  // The bounds of a product: |x y - x' y'| <= Y e_x + X e_y + e_x e_y for x <= X, y <= Y, and what underflows.
  // Rows of tables are at most 1, others 2.
  void product_bounds(const Operand* factors, int64_t count, Span span, Real* to) const {
    Real most = 1;
    for (int64_t c = 0; c < count; c++) {
      const Rows one = rows_of(factors[c]);
      const Real* from = one.bounds;
      const Real largest_of = one.is_table ? 1 : 2;
      if (c == 0) each_row(one, span, [=](int64_t b, int64_t at) { to[b] = from[at]; });
      else each_row(one, span, [=](int64_t b, int64_t at) {
        to[b] = to[b] * largest_of + most * from[at] + to[b] * from[at] + SMALLEST;
      });
      most *= largest_of;
    }
  }

  // The products of the rows of a span, each times a number.
  void multiply_rows(const Operand* factors, int64_t count, Span span, int64_t width, const Real* by,
                     Real* to) const {
    with_vectors(width, [&](auto known) { multiply_rows_of<known.value>(factors, count, span, width, by, to); });
  }

  template <int V>
  void multiply_rows_of(const Operand* factors, int64_t count, Span span, int64_t width, const Real* by,
                        Real* to) const {
    const int64_t vectors = V ? V : width / LANES;
    const Rows left = rows_of(factors[0]);
    for (int64_t c = 1; c < count || c == 1; c++) {
      const Rows right = count == 1 ? left : rows_of(factors[c]);
      const bool fetch_left = c == 1 && left.is_table, fetch_right = right.is_table;
      for (int64_t b = 0; b < span.count; b++) {
        const int64_t row = span.start + b, ahead = row + PREFETCH < rows ? row + PREFETCH : row;
        const Real* x = c == 1 ? left.values + left.index[row] * width : to + b * width;
        const Real* y = right.values + right.index[row] * width;
        if (fetch_left)
          for (int64_t v = 0; v < vectors; v++)
            __builtin_prefetch(left.values + left.index[ahead] * width + v * LANES);
        if (fetch_right)
          for (int64_t v = 0; v < vectors; v++)
            __builtin_prefetch(right.values + right.index[ahead] * width + v * LANES);
        for (int64_t v = 0; v < vectors; v++) {
          Vector product = load(x + v * LANES);
          if (count > 1) product *= load(y + v * LANES);
          if (by && c == 1) product *= by[b];
          store(to + b * width + v * LANES, product);
        }
      }
    }
  }

  // Of a row without a bound nothing may reach the gradients, not even multiplied by zero.
  void clear(const Unit& unit, int64_t b, Real* row) {
    memset(row, 0, unit.out_width * sizeof(Real));
    scales[unit.slot * capacity + b] = 0;
  }

  // Makes logarithms in `count` rows, at most LANES, values whose largest is 1; `low` was rounded off.
  void from_logarithms(const Unit& unit, int64_t start, int64_t count, const Real* low) {
    Real* out = values_of(unit) + start * unit.out_width;
    Real top[LANES];
    with_vectors(unit.out_width, [&](auto known) {
      const int64_t width = known.value ? known.value * LANES : unit.out_width;
      store(top, largest_of_rows(out, width, count));
      for (int64_t i = 0; i < count; i++)
        for (int64_t n = i * width; n < (i + 1) * width; n += LANES) {
          const Vector below = load(out + n) - top[i];
          store(out + n, exponential(low ? below + load(low + n) : below));
        }
    });
    for (int64_t i = 0; i < count; i++) {
      const bool is_finite = top[i] - top[i] == 0;
      scales_of(unit)[start + i] = top[i];
      bounds_of(unit)[start + i] = is_finite ? DROPPED : INFINITY;
      if (training && !is_finite) clear(unit, start + i, out + i * unit.out_width);
    }
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf.
  // Many are added in blocks; `low` gets what that rounds off.
  template <int R>
  void log_densities(const Unit& unit, int64_t start, Real* low) {
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
          else store(to, sums[r]);
          if (!block && low) store(rest, Vector{});
        }
      }
  }

  void gaussian(const Unit& unit) {
    Real* low = unit.factors > BLOCK_DENSITIES ? scratch : nullptr;
    each_span(unit.out_width, [&](Span span) {
      for (int64_t start = span.start; start < span.start + span.count; start += LANES) {
        const int64_t left = span.start + span.count - start, count = left < LANES ? left : LANES;
        if (count == LANES) log_densities<LANES>(unit, start, low);
        else
          for (int64_t i = 0; i < count; i++)
            log_densities<1>(unit, start + i, low ? low + i * unit.out_width : nullptr);
        from_logarithms(unit, start, count, low);
      }
    });
  }

  void density(const Unit& unit) {
    for (int64_t start = 0; start < rows; start += LANES) {
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
    read_tables(unit);
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
      for (int64_t b = 0; b < span.count; b++) top[b] = term_scales[b] > top[b] ? term_scales[b] : top[b];
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
      for (int64_t b = 0; b < span.count; b++) {
        const Real by = unit.terms > 1 ? term_factors[b] : 1.0f;
        const Real error = by == 0 ? (most + term_bounds[b]) * DROPPED : term_bounds[b] * by + most * SMALLEST;
        bound[b] = (h ? bound[b] : 0) + norm * error + underflow;
      }
      add(h, factors, unit.terms > 1 ? term_factors : nullptr);
    }
  }

  void sum(const Unit& unit) {
    read_tables(unit);
    const bool many = Accumulator::needs_compensation(unit.terms * Accumulator::parts_of(unit.in_units));
    each_span(unit.in_width, [&](Span span) {
      Real* exact = many ? scratch + span.count * unit.in_width : nullptr;
      Accumulator total{values_of(unit) + span.start * unit.out_width, exact, span.count, unit.out_width};
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
    read_tables(unit);
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
    read_tables(unit);
    const int64_t units = unit.in_units, width = unit.in_width;
    const Real norm = norms[0], underflow = 4 * (Real)(units * units) * SMALLEST;
    each_span(width, [&](Span span) {
      Real* low = units > MANY_PRODUCTS ? scratch + 2 * span.count * width : nullptr;
      const Real* left = rows_in_order(factors[0], span, width, scratch);
      const Real* right = rows_in_order(factors[1], span, width, scratch + span.count * width);
      add_products(left, right, width, weights, units, unit.out_width, values_of(unit) + span.start * unit.out_width,
                   low, span.count);
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
    for (int64_t b = 0; b < rows; b++) {
      Real* out = values_of(unit) + b * unit.out_width;
      const Real* left = lefts.values + lefts.index[b] * unit.in_width;
      const Real* right = rights.values + rights.index[b] * right_width;
      for (int64_t i = 0; i < unit.in_units; i++)
        for (int64_t j = 0; j < right_units; j++) out[i * right_units + j] = left[i] * right[j];
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    product_scales(factors, 2, all_rows(), scales_of(unit));
    product_bounds(factors, 2, all_rows(), bounds_of(unit));
    rescale(unit, all_rows());
  }

  // y[q P + p] = sum_j w[j][p] x[j Q + q]; `terms` is J, `factors` the padded P.
  void tensor_dot(const Unit& unit) {
    const Operand* operand = circuit.operands + unit.operands;
    const Rows from = rows_of(*operand);
    const int64_t J = unit.terms, Q = unit.in_units / J, P = unit.out_units / Q, padded = unit.factors;
    Real* transposed = scratch;
    Real* product = scratch + Q * J;
    for (int64_t b = 0; b < rows; b++) {
      const Real* x = from.values + from.index[b] * unit.in_width;
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) transposed[q * J + j] = x[j * Q + q];
      Accumulator{product, nullptr, Q, padded}.add(transposed, J, weights, J);
      Real* out = values_of(unit) + b * unit.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(Real));
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    const Real norm = norms[0], underflow = 4 * (Real)J * SMALLEST;
    product_scales(operand, 1, all_rows(), scales_of(unit));
    product_bounds(operand, 1, all_rows(), bounds_of(unit));
    for (int64_t b = 0; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
    rescale(unit, all_rows());
  }

  // Divides each row of a span by the power of two of its largest element.
  void rescale(const Unit& unit, Span span) {
    for (int64_t start = span.start; start < span.start + span.count; start += LANES) {
      const int64_t left = span.start + span.count - start, count = left < LANES ? left : LANES;
      Real* out = values_of(unit) + start * unit.out_width;
      Real by[LANES];
      Bits exponents[LANES], is_legal[LANES];
      with_vectors(unit.out_width, [&](auto known) {
        const int64_t width = known.value ? known.value * LANES : unit.out_width;
        const Vector top = largest_of_rows(out, width, count);
        const Integers exponent = (((Integers)top >> MANTISSA) & (2 * BIAS + 1)) - BIAS;
        const Integers legal = (top >= SMALLEST) & (exponent < BIAS);  // not zero, too small, infinite or NaN
        store(by, legal ? (Vector)((BIAS - exponent) << MANTISSA) : all(1.0f));
        *(Integers*)exponents = legal & exponent;
        *(Integers*)is_legal = legal;
        for (int64_t i = 0; i < count; i++)
          for (int64_t n = i * width; n < (i + 1) * width; n += LANES) store(out + n, load(out + n) * by[i]);
      });
      double* scale = scales_of(unit) + start;
      Real* bound = bounds_of(unit) + start;
      for (int64_t i = 0; i < count; i++) {
        scale[i] += exponents[i] * LN2;
        bound[i] = is_legal[i] ? bound[i] * by[i] + SMALLEST : INFINITY;
      }
      for (int64_t i = 0; training && i < count; i++) {
        multipliers[unit.slot * capacity + start + i] = is_legal[i] ? by[i] : 0;
        if (!is_legal[i]) clear(unit, start + i, out + i * unit.out_width);
      }
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
    }
  }

  void run(const Unit& unit) {
    weights = circuit.constants + unit.weight;
    norms = circuit.constants + unit.norms;
    compute(unit);
  }

  // Writes the logarithms of the outputs, and which rows are certified; returns how many are not.
  int64_t write(Real tolerance, float* to, uint8_t* certified) const {
    int64_t failed = 0;
    const int64_t width = (circuit.output_units + LANES - 1) / LANES * LANES;
    for (int64_t b = 0; b < rows; b++) {
      bool sure = true;
      for (int64_t i = 0; i < circuit.num_outputs; i++) {
        const Rows one = rows_of(circuit.operands[circuit.outputs[i]]);
        const Real* from = one.values + one.index[b] * width;
        const double scale_of = one.scales[one.index[b]];
        const Real bound_of = one.bounds[one.index[b]];
        float* result = to + ((first + b) * circuit.num_outputs + i) * circuit.output_units;
        for (int64_t n = 0; n < circuit.output_units; n++) {
          result[n] = (float)(log((double)from[n]) + scale_of);
          sure &= bound_of < tolerance * from[n] && result[n] - result[n] == 0;
        }
      }
      certified[first + b] = sure;
      failed += !sure;
    }
    return failed;
  }
};
