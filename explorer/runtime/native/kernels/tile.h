// A tile: some rows of the input, with the values of calls for them, and how calls read these.
#pragma once
#include "matrices.h"

constexpr int SQUARE = 16;  // rows and variables that are copied at a time

// An operand for all rows of a tile: row b is at `values + at(b) * width`, and its scale at `scales[at(b)]`, as its
// bound. `largest` is the largest element of each row; null: at most 1.
struct Rows {
  const Real* values;
  const double* scales;
  const Real* bounds;
  const Real* largest;
  const State* index;  // null: the rows from `start` on
  int64_t start;

  int64_t at(int64_t b) const { return index ? index[b] : start + b; }
};

// Rows start .. start+count-1 of a tile.
struct Span {
  int64_t start, count;
};

// Rows `begin` .. `rows`-1 of it are computed: all of them, or a share of a thread.
struct TileRows {
  const Circuit& circuit;
  const Input& input;
  int64_t first, rows, capacity;
  Real* slots;
  double* scales;
  Real* bounds;
  Real* tops;  // the largest element of each row
  uint64_t* absorbed;  // of each row: the sum of the errors that were absorbed, in units of ABSORBED_UNIT
  Real* scratch;
  double* term_scales;  // of the present term
  Real* term_bounds;
  Real* term_tops;
  Real* term_factors;
  State* zeros;
  State* states;   // (num_discrete, capacity)
  Real* points;    // (num_continuous, capacity)
  const Training* training = nullptr;
  Real* multipliers;    // in training: what the rows of each slot were multiplied by (num_slots, capacity)
  const Real* weights;  // of the present call: (input units, output units)
  const Real* norms;    // for each term, at least the sum of the weights of an output unit
  Ahead ahead;          // what the next call reads
  int64_t begin = 0;

  Real* values(int64_t place) const { return slots + place * capacity; }
  Real* values_of(const KernelCall& call) const { return values(call.place); }
  double* scales_of(const KernelCall& call) const { return scales + call.slot * capacity; }
  Real* bounds_of(const KernelCall& call) const { return bounds + call.slot * capacity; }
  Real* tops_of(const KernelCall& call) const { return tops + call.slot * capacity; }
  Rows rows_of(const Operand& one) const {
    const int64_t at = one.slot * capacity;
    if (one.slot >= 0) return {values(one.place), scales + at, bounds + at, tops + at, nullptr, 0};
    return {circuit.constants + one.rows, circuit.scales + one.scales, circuit.constants + one.bounds, nullptr,
            one.by_row ? nullptr : states_of(one), one.by_row ? first : 0};
  }

  // The states of a table that the rows of the tile read.
  const State* states_of(const Operand& one) const {
    return one.variable < 0 ? zeros : states + one.variable * capacity;
  }

  // Copies the variables, one after the other. False if a value is none of its variable.
  template <class T>
  bool read_variables() {
    int32_t bad = 0;
    copy_columns<T>(circuit.discrete, circuit.num_discrete, states, [&](T value, int64_t v) {
      const bool inside = (value >= 0) & (value < (T)circuit.num_values[v]);
      const int32_t state = inside ? (int32_t)value : 0;
      bad |= !inside | ((T)state != value);
      return (State)state;  // of more states there is no table, and this is not read
    });
    copy_columns<T>(circuit.continuous, circuit.num_continuous, points, [&](T value, int64_t) {
      bad |= (Real)value != (Real)value;
      return (Real)value;
    });
    return !bad;
  }

  // to (count, capacity) = read(value, v) of columns[v] of x for v < count: a square of rows and variables at a time, so
  // that lines of the cache are read and written at once.
  template <class T, class To, class Read>
  void copy_columns(const int64_t* columns, int64_t count, To* to, Read read) const {
    for (int64_t start = begin; start < rows; start += SQUARE) {
      const int64_t height = rows - start < SQUARE ? rows - start : SQUARE;
      const T* x = (const T*)input.x + (first + start) * input.columns;
      if (count > input.columns / 2) fetch_lines(x, height * input.columns * sizeof(T));
      for (int64_t v = 0; v < count; v += SQUARE) {
        const int64_t width = count - v < SQUARE ? count - v : SQUARE;
        To square[SQUARE][SQUARE];
        if (width == SQUARE && are_neighbours(columns + v))
          for (int64_t b = 0; b < height; b++) {
            const T* from = x + b * input.columns + columns[v];
            for (int64_t i = 0; i < SQUARE; i++) square[b][i] = read(from[i], v + i);
          }
        else
          for (int64_t b = 0; b < height; b++)
            for (int64_t i = 0; i < width; i++) square[b][i] = read(x[b * input.columns + columns[v + i]], v + i);
        for (int64_t i = 0; i < width; i++)
          for (int64_t b = 0; b < height; b++) to[(v + i) * capacity + start + b] = square[b][i];
      }
    }
  }

  // Fetches lines in order, which takes less time than square by square.
  static void fetch_lines(const void* from, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += LINE_BYTES) __builtin_prefetch((const char*)from + i, 0, 2);
  }

  static bool are_neighbours(const int64_t* columns) {
    bool found = true;
    for (int64_t i = 1; i < SQUARE; i++) found &= columns[i] == columns[0] + i;
    return found;
  }

  Span all_rows() const { return {begin, rows - begin}; }

  // Calls `compute` for some rows after the others.
  template <class Compute>
  void each_span(int64_t width, Compute compute) {
    const int64_t size = width > SPAN_WIDTH ? capacity : SPAN_ROWS;
    for (int64_t start = begin; start < rows; start += size) {
      const Span span{start, rows - start < size ? rows - start : size};
      compute(span);
    }
  }

  // Calls `compute(b, at)` for the rows of a span: row b of it is row `at` of an operand.
  template <class Compute>
  static void each_row(const Rows& one, Span span, Compute compute) {
    if (one.index) INDEPENDENT for (int64_t b = 0; b < span.count; b++) compute(b, (int64_t)one.index[span.start + b]);
    else INDEPENDENT for (int64_t b = 0; b < span.count; b++) compute(b, one.start + span.start + b);
  }

  void product_scales(const Operand* factors, int64_t count, Span span, double* to) const {
    for (int64_t c = 0; c < count; c++) {
      const Rows one = rows_of(factors[c]);
      const double* from = one.scales;
      if (c == 0) each_row(one, span, [=](int64_t b, int64_t at) { to[b] = from[at]; });
      else each_row(one, span, [=](int64_t b, int64_t at) { to[b] += from[at]; });
    }
  }

  // The bounds of a product: |x y - x' y'| <= Y e_x + X e_y + e_x e_y for x <= X, y <= Y, and what underflows. Each
  // operand has its X for each row: with one that is far above it, bounds would grow with every product of a chain.
  void product_bounds(const Operand* factors, int64_t count, Span span, Real* to) const {
    Real* most = term_tops;
    for (int64_t c = 0; c < count; c++) {
      const Rows one = rows_of(factors[c]);
      const Real *from = one.bounds, *top = one.largest ? one.largest + span.start : nullptr;
      if (c == 0) {
        each_row(one, span, [=](int64_t b, int64_t at) { to[b] = from[at]; });
        if (count > 1) for (int64_t b = 0; b < span.count; b++) most[b] = top ? top[b] : 1;
      } else if (!top) {
        each_row(one, span, [=](int64_t b, int64_t at) { to[b] += (most[b] + to[b]) * from[at] + SMALLEST; });
      } else {
        each_row(one, span, [=](int64_t b, int64_t at) {
          to[b] = to[b] * top[b] + (most[b] + to[b]) * from[at] + SMALLEST;
          most[b] *= top[b];
        });
      }
    }
  }

  // The products of the rows of a span, each times a number.
  void multiply_rows(const Operand* factors, int64_t count, Span span, int64_t width, const Real* by,
                     Real* to) const {
    bool are_values = !by;
    for (int64_t c = 0; c < count; c++) are_values &= factors[c].slot >= 0;
    if (are_values && count == 2) return multiply_values<2>(factors, span, width, to);
    if (are_values && count == 3) return multiply_values<3>(factors, span, width, to);
    if (are_values && count == 4) return multiply_values<4>(factors, span, width, to);
    with_vectors(width, [&](auto known) { multiply_rows_of<known.value>(factors, count, span, width, by, to); });
  }

  // The same for factors with rows one after the other.
  template <int C>
  void multiply_values(const Operand* factors, Span span, int64_t width, Real* to) const {
    const Real* from[C];
    for (int c = 0; c < C; c++) from[c] = values(factors[c].place) + span.start * width;
    for (int64_t n = 0; n < span.count * width; n += LANES) {
      Vector product = load(from[0] + n);
      for (int c = 1; c < C; c++) product *= load(from[c] + n);
      store(to + n, product);
    }
  }

  template <int V>
  void multiply_rows_of(const Operand* factors, int64_t count, Span span, int64_t width, const Real* by,
                        Real* to) const {
    const int64_t vectors = V ? V : width / LANES;
    const Rows left = rows_of(factors[0]);
    for (int64_t c = 1; c < count || c == 1; c++) {
      const Rows right = count == 1 ? left : rows_of(factors[c]);
      for (int64_t b = 0; b < span.count; b++) {
        const int64_t row = span.start + b;
        const Real* x = c == 1 ? left.values + left.at(row) * width : to + b * width;
        const Real* y = right.values + right.at(row) * width;
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
