// A tile: some rows of the input, with the values of units for them, and how units read these.
#pragma once
#include "circuit.h"
#include "matrices.h"

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

struct TileRows {
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
};
