// The native kernels of circuits: a loop over units, for a tile of rows at a time.
//
// Values of a unit are a tile (rows, width) of float, in linear scale, and for each row
//   scale: the natural logarithm of what the row was divided by, in double;
//   bound: an upper bound on the absolute error that underflow has caused in any element, in units of the row.
// A row is rescaled by a power of two after each unit, so that its largest element is in [1, 2). The rounding of float
// arithmetic is not part of the bound: it is relative. explorer/runtime/README.md derives the bounds.
//
#pragma once
#include "circuit.h"
#include "matrices.h"
#include "tables.h"
#include "transpose.h"

constexpr int BLOCK_ROWS = 24;               // rows of a Kronecker product that are expanded at a time
constexpr int BLOCK_COLUMNS = 256;           // and about so many of its columns
constexpr float NORM_MARGIN = 1.001f;       // sums of weights are rounded, and bounds are not smaller than the sums
constexpr uint8_t WANTED = 1, MADE = 2;      // of the row of a state
constexpr int PREFETCH = 8;                  // rows of a table are fetched into the cache so many rows ahead

// An operand for all rows of a tile: row b is at `values + index[b] * width`, and its scale at `scales[index[b]]`,
// as its bound.
struct Rows {
  const float* values;
  const double* scales;
  const float* bounds;
  const int32_t* index;
  bool is_table;
};

// The columns of a Kronecker product of rows of this width that are expanded at a time, with room for a vector more.
static int64_t tucker_columns(int64_t width) { return (width > BLOCK_COLUMNS ? width : BLOCK_COLUMNS) + 2 * LANES; }

struct Tile {
  const Circuit& circuit;
  const Input& input;
  int64_t first, rows, capacity;
  float* slots;
  double* scales;
  float* bounds;
  float* scratch;
  double* term_scales;  // of the present term
  float* term_bounds;
  float* term_factors;
  int32_t* order;   // 0, 1, 2 ..
  int32_t* zeros;
  int32_t* states;  // (num_discrete, capacity)
  float* points;    // (num_continuous, capacity)
  const Training* training = nullptr;
  float* multipliers;    // in training: what the rows of each slot were multiplied by (num_slots, capacity)
  float* transposed_weights;  // in training, of the present unit; `weights` points there
  float* norms_of_terms;      // and `norms` there
  uint8_t* made;         // and of the states of all tables, whether their rows have been made
  const float* weights;  // of the present unit: (input units, output units)
  const float* norms;    // for each term, at least the sum of the weights of an output unit

  float* values(int64_t place) const { return slots + place * capacity; }
  float* values_of(const Unit& unit) const { return values(unit.place); }
  double* scales_of(const Unit& unit) const { return scales + unit.slot * capacity; }
  float* bounds_of(const Unit& unit) const { return bounds + unit.slot * capacity; }
  Rows rows_of(const Operand& one) const {
    if (one.slot >= 0) return {values(one.place), scales + one.slot * capacity, bounds + one.slot * capacity, order, false};
    return {circuit.constants + one.rows, circuit.scales + one.scales, circuit.constants + one.bounds,
            one.variable < 0 ? zeros : states + one.variable * capacity, true};
  }

  // Copies the variables, one after the other. False if a value is none of its variable.
  template <class T>
  bool read_variables() {
    const T* x = (const T*)input.x + first * input.columns;
    bool legal = true;
    for (int64_t b = 0; b < rows; b++) {
      const T* from = x + b * input.columns;
      for (int64_t v = 0; v < circuit.num_discrete; v++) {
        T value = from[circuit.discrete[v]];
        bool inside = value >= 0 && value < (T)circuit.num_values[v];
        int32_t state = inside ? (int32_t)value : 0;
        legal &= inside && (T)state == value;
        states[v * capacity + b] = state;
      }
      for (int64_t v = 0; v < circuit.num_continuous; v++) {
        float value = (float)from[circuit.continuous[v]];
        legal &= value == value;
        points[v * capacity + b] = value;
      }
    }
    return legal;
  }

  void product_scales(const Operand* factors, int64_t count, double* to) const {
    for (int64_t c = 0; c < count; c++) {
      const Rows one = rows_of(factors[c]);
      if (c == 0) for (int64_t b = 0; b < rows; b++) to[b] = one.scales[one.index[b]];
      else for (int64_t b = 0; b < rows; b++) to[b] += one.scales[one.index[b]];
    }
  }

  // The bounds of a product: |x y - x' y'| <= Y e_x + X e_y + e_x e_y for x <= X, y <= Y, and what underflows.
  // Rows of tables are at most 1, others 2.
  void product_bounds(const Operand* factors, int64_t count, float* to) const {
    float most = 1;
    for (int64_t c = 0; c < count; c++) {
      const Rows from = rows_of(factors[c]);
      const float largest_of = from.is_table ? 1 : 2;
      for (int64_t b = 0; b < rows; b++) {
        float one = from.bounds[from.index[b]];
        to[b] = c ? to[b] * largest_of + most * one + to[b] * one + SMALLEST : one;
      }
      most *= largest_of;
    }
  }

  // The rows of a product, each times a number. V is the number of vectors of a row, or 0 if it is known at run time.
  template <int V>
  void multiply_rows_of(const Operand* factors, int64_t count, int64_t width, const float* by, float* to) const {
    const int64_t vectors = V ? V : width / LANES;
    const Rows left = rows_of(factors[0]);
    for (int64_t c = 1; c < count || c == 1; c++) {
      const Rows right = count == 1 ? left : rows_of(factors[c]);
      const bool fetch_left = c == 1 && left.is_table, fetch_right = right.is_table;
      for (int64_t b = 0; b < rows; b++) {
        const float* x = c == 1 ? left.values + left.index[b] * width : to + b * width;
        const float* y = right.values + right.index[b] * width;
        const int64_t ahead = b + PREFETCH < rows ? b + PREFETCH : b;
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

  void multiply_rows(const Operand* factors, int64_t count, int64_t width, const float* by, float* to) const {
    switch (width / LANES) {
      case 1: multiply_rows_of<1>(factors, count, width, by, to); break;
      case 2: multiply_rows_of<2>(factors, count, width, by, to); break;
      case 4: multiply_rows_of<4>(factors, count, width, by, to); break;
      default: multiply_rows_of<0>(factors, count, width, by, to);
    }
  }

  // Of a row without a bound nothing may reach the gradients, not even multiplied by zero.
  void clear(const Unit& unit, int64_t b, float* row) {
    memset(row, 0, unit.out_width * sizeof(float));
    scales[unit.slot * capacity + b] = 0;
  }

  // Makes logarithms in `to`, of which `low` was rounded off, values whose largest is 1.
  void from_logarithms(const Unit& unit, int64_t b, float* to, const float* low) {
    float top = largest(to, unit.out_width);
    for (int64_t n = 0; n < unit.out_width; n += LANES) {
      const Vector below = load(to + n) - top;
      store(to + n, exponential(low ? below + load(low + n) : below));
    }
    scales[unit.slot * capacity + b] = top;
    bounds[unit.slot * capacity + b] = top - top == 0 ? DROPPED : INFINITY;
    if (training && top - top != 0) clear(unit, b, to);
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf.
  void gaussian(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t width = unit.out_width;
    const bool in_blocks = unit.factors > BLOCK_DENSITIES;
    float* out = values_of(unit);
    float* part = scratch;
    float* low = scratch + width;
    for (int64_t b = 0; b < rows; b++, out += width) {
      float* to = out;
      for (int64_t c = 0; c < unit.factors; c++) {
        const float* mean = circuit.constants + factors[c].rows;
        const Vector x = all(points[factors[c].variable * capacity + b]);
        const bool begins = c % BLOCK_DENSITIES == 0;
        for (int64_t n = 0; n < width; n += LANES) {
          Vector z = (x - load(mean + n)) * load(mean + width + n);
          z = load(mean + 2 * width + n) - z * z;
          store(to + n, begins ? z : load(to + n) + z);
        }
        if (!in_blocks || (c + 1 < unit.factors && (c + 1) % BLOCK_DENSITIES)) continue;
        for (int64_t n = 0; n < width; n += LANES)
          if (to == part) add_exactly(out + n, low + n, load(part + n));
          else store(low + n, Vector{});
        to = part;
      }
      from_logarithms(unit, b, out, in_blocks ? low : nullptr);
    }
  }

  void density(const Unit& unit) {
    float* out = values_of(unit);
    for (int64_t b = 0; b < rows; b++, out += unit.out_width) {
      const float* from = input.densities + (first + b) * input.density_floats + unit.weight;
      for (int64_t n = 0; n < unit.out_width; n++) out[n] = n < unit.out_units ? from[n] : -INFINITY;
      from_logarithms(unit, b, out, nullptr);
    }
  }

  void product(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    multiply_rows(factors, unit.factors, unit.out_width, nullptr, values_of(unit));
    product_scales(factors, unit.factors, scales_of(unit));
    product_bounds(factors, unit.factors, bounds_of(unit));
  }

  // Calls `add(h, factors, by)` for each term: the scale of a sum is the largest one of its terms, and a term is
  // multiplied by the quotient. The bound of a term: `norms[h]` is at least the sum of its weights for an output unit.
  template <class Add>
  void add_terms(const Unit& unit, Add add) {
    const Operand* operands = circuit.operands + unit.operands;
    double* top = scales_of(unit);
    float* bound = bounds_of(unit);
    product_scales(operands, unit.factors, top);
    for (int64_t h = 1; h < unit.terms; h++) {
      product_scales(operands + h * unit.factors, unit.factors, term_scales);
      for (int64_t b = 0; b < rows; b++) top[b] = term_scales[b] > top[b] ? term_scales[b] : top[b];
    }
    const float most = ldexpf(1, (int)unit.factors), underflow = 4 * (float)unit.in_units * SMALLEST;
    for (int64_t h = 0; h < unit.terms; h++) {
      const Operand* factors = operands + h * unit.factors;
      product_bounds(factors, unit.factors, term_bounds);
      if (unit.terms > 1) {
        product_scales(factors, unit.factors, term_scales);
        for (int64_t b = 0; b < rows; b++) term_factors[b] = exponential_of(term_scales[b] - top[b]);
      }
      for (int64_t b = 0; b < rows; b++) {
        float by = unit.terms > 1 ? term_factors[b] : 1.0f;
        float error = by == 0 ? (most + term_bounds[b]) * DROPPED : term_bounds[b] * by + most * SMALLEST;
        float one = norms[h] * error + underflow;
        bound[b] = h ? bound[b] + one : one;
      }
      add(h, factors, unit.terms > 1 ? term_factors : nullptr);
    }
  }

  void sum(const Unit& unit) {
    const bool many = Accumulator::needs_compensation(unit.terms * Accumulator::parts_of(unit.in_units));
    Accumulator total{values_of(unit), many ? scratch + rows * unit.in_width : nullptr, rows, unit.out_width};
    add_terms(unit, [&](int64_t h, const Operand* factors, const float* by) {
      const bool direct = !by && unit.factors == 1 && factors->slot >= 0;
      if (!direct) multiply_rows(factors, unit.factors, unit.in_width, by, scratch);
      total.add(direct ? values(factors->place) : scratch, unit.in_width,
              weights + h * unit.in_units * unit.out_width, unit.in_units);
    });
    total.finish();
  }

  void mixing(const Unit& unit) {
    const int64_t width = unit.out_width;
    float* out = values_of(unit);
    float* low = Accumulator::needs_compensation(unit.terms) ? scratch + rows * width : nullptr;
    if (low) memset(low, 0, rows * width * sizeof(float));
    add_terms(unit, [&](int64_t h, const Operand* factors, const float* by) {
      const float* weight = weights + h * width;
      multiply_rows(factors, unit.factors, width, by, scratch);
      for (int64_t b = 0; b < rows; b++)
        for (int64_t n = 0; n < width; n += LANES) {
          const int64_t at = b * width + n;
          Vector term = load(scratch + at) * load(weight + n);
          if (h && low) add_exactly(out + at, low + at, term);
          else store(out + at, h ? load(out + at) + term : term);
        }
    });
    if (low)
      for (int64_t n = 0; n < rows * width; n += LANES) store(out + n, load(out + n) + load(low + n));
  }

  // A sum over the Kronecker product of two operands, which is expanded in blocks that stay in the cache.
  void tucker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t units = unit.in_units, width = unit.in_width;
    const int64_t chunk = units > BLOCK_COLUMNS ? 1 : BLOCK_COLUMNS / units;
    const bool many = Accumulator::needs_compensation((units + chunk - 1) / chunk * Accumulator::parts_of(units));
    float* out = values_of(unit);
    for (int64_t start = 0; start < rows; start += BLOCK_ROWS) {
      const int64_t block = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;
      float* exact = many ? scratch + BLOCK_ROWS * tucker_columns(width) : nullptr;
      Accumulator total{out + start * unit.out_width, exact, block, unit.out_width};
      for (int64_t i = 0; i < units; i += chunk) {
        const int64_t count = units - i < chunk ? units - i : chunk, columns = count * units;
        for (int64_t r = 0; r < block; r++) {
          const float* left = lefts.values + lefts.index[start + r] * width;
          const float* right = rights.values + rights.index[start + r] * width;
          float* to = scratch + r * (columns + LANES);
          for (int64_t j = 0; j < count; j++)
            for (int64_t n = 0; n < units; n += LANES) store(to + j * units + n, load(right + n) * left[i + j]);
        }
        total.add(scratch, columns + LANES, weights + i * units * unit.out_width, columns);
      }
      total.finish();
    }
    const float norm = norms[0], underflow = 4 * (float)(units * units) * SMALLEST;
    product_scales(factors, 2, scales_of(unit));
    product_bounds(factors, 2, bounds_of(unit));
    for (int64_t b = 0; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
  }

  void kronecker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t right_units = unit.out_units / unit.in_units, right_width = unit.weight;
    for (int64_t b = 0; b < rows; b++) {
      float* out = values_of(unit) + b * unit.out_width;
      const float* left = lefts.values + lefts.index[b] * unit.in_width;
      const float* right = rights.values + rights.index[b] * right_width;
      for (int64_t i = 0; i < unit.in_units; i++)
        for (int64_t j = 0; j < right_units; j++) out[i * right_units + j] = left[i] * right[j];
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    product_scales(factors, 2, scales_of(unit));
    product_bounds(factors, 2, bounds_of(unit));
  }

  // y[q P + p] = sum_j w[j][p] x[j Q + q]; `terms` is J, `factors` the padded P.
  void tensor_dot(const Unit& unit) {
    const Operand* operand = circuit.operands + unit.operands;
    const Rows from = rows_of(*operand);
    const int64_t J = unit.terms, Q = unit.in_units / J, P = unit.out_units / Q, padded = unit.factors;
    float* transposed = scratch;
    float* product = scratch + Q * J;
    for (int64_t b = 0; b < rows; b++) {
      const float* x = from.values + from.index[b] * unit.in_width;
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) transposed[q * J + j] = x[j * Q + q];
      Accumulator{product, nullptr, Q, padded}.add(transposed, J, weights, J);
      float* out = values_of(unit) + b * unit.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(float));
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    const float norm = norms[0], underflow = 4 * (float)J * SMALLEST;
    product_scales(operand, 1, scales_of(unit));
    product_bounds(operand, 1, bounds_of(unit));
    for (int64_t b = 0; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
  }

  // Divides each row by the power of two of its largest element.
  void rescale(const Unit& unit) {
    float* out = values_of(unit);
    for (int64_t b = 0; b < rows; b++, out += unit.out_width) {
      float top = largest(out, unit.out_width);
      float& bound_of = bounds[unit.slot * capacity + b];
      int32_t bits;
      memcpy(&bits, &top, sizeof bits);
      int32_t exponent = ((bits >> 23) & 255) - 127;
      if (!(top >= SMALLEST) || exponent > 126) {  // zero, too small, infinite or NaN
        bound_of = INFINITY;
        if (training) clear(unit, b, out), multipliers[unit.slot * capacity + b] = 0;
        continue;
      }
      bits = (127 - exponent) << 23;
      float by;
      memcpy(&by, &bits, sizeof by);
      for (int64_t n = 0; n < unit.out_width; n += LANES) store(out + n, load(out + n) * by);
      if (training) multipliers[unit.slot * capacity + b] = by;
      scales[unit.slot * capacity + b] += exponent * LN2;
      bound_of = bound_of * by + SMALLEST;
    }
  }

  // Transposes the weights of a unit, and adds them up for its bounds. False if one is negative or NaN.
  bool transpose_weights(const Unit& unit) {
    if (unit.source < 0) return true;
    const bool dot = unit.kind == TENSOR_DOT;
    const int64_t P = dot ? unit.out_units / (unit.in_units / unit.terms) : unit.out_units;
    const int64_t block = dot ? unit.terms : unit.kind == MIXING ? 1 : unit.kind == TUCKER ? unit.in_units * unit.in_units
                                                                                          : unit.in_units;
    const int64_t terms = unit.kind == SUM || unit.kind == MIXING ? unit.terms : 1;
    const int64_t columns = terms * block, width = dot ? unit.factors : unit.out_width;
    const float* from = training->sources[unit.source] + unit.weight;
    if (P < width) memset(transposed_weights, 0, columns * width * sizeof(float));
    Integers bad{};
    for (int64_t h = 0; h < terms; h++) {
      float most = 0;
      for (int64_t o = 0; o < P; o++) {
        const float* row = from + o * columns + h * block;
        Vector sums{};
        int64_t i = 0;
        for (; i + LANES <= block; i += LANES) {
          const Vector some = load(row + i);
          bad |= ~(some >= Vector{});
          sums += some;
        }
        float sum = 0;
        for (; i < block; i++) {
          bad[0] |= row[i] >= 0 ? 0 : -1;
          sum += row[i];
        }
        sum += sum_of(sums);
        most = sum <= most ? most : sum;
      }
      norms_of_terms[h] = most * NORM_MARGIN + SMALLEST;
    }
    transpose(from, columns, P, columns, transposed_weights, width);
    weights = transposed_weights;
    norms = norms_of_terms;
    return is_zero(bad);
  }

  // Makes the rows of a table that the tile reads. `weight` is the number of the table.
  bool make_rows(const Unit& unit) {
    const Table& table = training->tables[unit.weight];
    const int32_t* index = rows_of(circuit.operands[unit.operands]).index;
    uint8_t* made_rows = made + table.scales;
    bool legal = true;
    int64_t fresh = 0;
    for (int64_t b = 0; b < rows; b++) fresh += made_rows[index[b]] == 0, made_rows[index[b]] |= WANTED;
    if (!fresh) return true;
    if (table.content == NORMALIZED && !normalize(table, training->sources, (float*)circuit.constants)) return false;
    if (table.state_stride == 1 && 2 * fresh >= table.states) {
      memset(made_rows, MADE, table.states);
      return make_all_rows(table, training->sources, (float*)circuit.constants, (double*)circuit.scales, scratch);
    }
    for (int64_t b = 0; b < rows; b++) {
      if (made_rows[index[b]] & MADE) continue;
      made_rows[index[b]] = MADE;
      legal &= make_row(table, index[b], training->sources, (float*)circuit.constants, (double*)circuit.scales, scratch);
    }
    return legal;
  }

  // False if the unit has weights that have no bound.
  bool run(const Unit& unit) {
    if (training) {
      if (!transpose_weights(unit)) return false;
    } else {
      weights = circuit.constants + unit.weight;
      norms = circuit.constants + unit.norms;
    }
    switch (unit.kind) {
      case TABLE: return make_rows(unit);
      case GAUSSIAN: gaussian(unit); return true;
      case DENSITY: density(unit); return true;
      case PRODUCT: product(unit); break;
      case SUM: sum(unit); break;
      case MIXING: mixing(unit); break;
      case TUCKER: tucker(unit); break;
      case KRONECKER: kronecker(unit); break;
      case TENSOR_DOT: tensor_dot(unit); break;
    }
    rescale(unit);
    return true;
  }

  // Writes the logarithms of the outputs, and which rows are certified; returns how many are not.
  int64_t write(float tolerance, float* to, uint8_t* certified) const {
    int64_t failed = 0;
    const int64_t width = (circuit.output_units + LANES - 1) / LANES * LANES;
    for (int64_t b = 0; b < rows; b++) {
      bool sure = true;
      for (int64_t i = 0; i < circuit.num_outputs; i++) {
        const Rows one = rows_of(circuit.operands[circuit.outputs[i]]);
        const float* from = one.values + one.index[b] * width;
        const double scale_of = one.scales[one.index[b]];
        const float bound_of = one.bounds[one.index[b]];
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
