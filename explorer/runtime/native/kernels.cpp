// The native kernels of circuits: a loop over units, for a tile of rows at a time.
//
// Values of a unit are a tile (rows, width) of float, in linear scale, and for each row
//   scale: the natural logarithm of what the row was divided by, in double;
//   bound: an upper bound on the absolute error that underflow has caused in any element, in units of the row.
// A row is rescaled by a power of two after each unit, so that its largest element is in [1, 2). The rounding of float
// arithmetic is not part of the bound: it is relative. explorer/runtime/README.md derives the bounds.
//
// Widths are padded with zeros to whole vectors, so no loop has a remainder. Vectors are the extension of GCC and Clang.
#include <cmath>
#include <cstdint>
#include <cstring>

#if defined(__AVX512F__)
constexpr int LANES = 16;
#elif defined(__AVX__)
constexpr int LANES = 8;
#else
constexpr int LANES = 4;
#endif
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int REGISTERS = 32;
#else
constexpr int REGISTERS = 16;
#endif

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

constexpr float SMALLEST = 1.17549435e-38f;  // the smallest normal float: below it, bits are lost
constexpr float LOWEST = -87.0f;             // exp of less is taken as zero
constexpr float DROPPED = 1.7e-38f;          // above exp(LOWEST)
constexpr double LN2 = 0.69314718055994530942;
constexpr int BLOCK_ROWS = 24;               // rows of a Kronecker product that are expanded at a time
constexpr int BLOCK_COLUMNS = 256;           // and about so many of its columns
constexpr int PREFETCH = 8;                  // rows of a table are fetched into the cache so many rows ahead
constexpr int BLOCK_SUMMANDS = 256;          // summands of a matrix product that are added one after the other
constexpr int BLOCK_DENSITIES = 16;          // and of logarithms of densities
constexpr int MANY_PARTS = 32;               // more parts of a sum than that are added with compensation

enum Kind : int32_t { GAUSSIAN, PRODUCT, SUM, MIXING, TUCKER, KRONECKER, TENSOR_DOT, DENSITY };
enum Status : int64_t { BAD_INPUT = -1 };

// An input of a unit: the values of another one in a slot, or the rows of a table by the value of a variable.
struct Operand {
  int64_t slot;      // -1: a table
  int64_t variable;  // position among the discrete variables; -1: a table with one row
  int64_t rows;      // offset of the table's rows
  int64_t scales;    // offset of their scales
  int64_t bounds;    // offset of their bounds
};

// `terms` times `factors` operands; widths are padded ones, but for `in_units` and `out_units`.
struct Unit {
  int64_t kind, slot, in_units, in_width, out_units, out_width, terms, factors, operands, weight, norms;
};

struct Circuit {
  const Unit* units;
  int64_t num_units;
  const Operand* operands;
  const float* constants;
  const double* scales;
  int64_t slot_floats;  // of one row of a slot
  int64_t num_slots;
  int64_t scratch_floats;  // of one row
  int64_t scratch_fixed;   // or so many for a unit that needs them whatever the number of rows
  const int64_t* outputs;  // (num_outputs) operands
  int64_t num_outputs;
  int64_t output_units;
  const int64_t* discrete;     // columns of x of the discrete variables
  const int64_t* num_values;   // and how many values they have
  int64_t num_discrete;
  const int64_t* continuous;   // columns of x of the continuous variables
  int64_t num_continuous;
};

struct Input {
  const void* x;  // (rows, columns)
  int64_t type;   // 0: int64, 1: float, 2: double
  int64_t columns;
  const float* densities;  // (rows, density_floats): logarithms that were computed elsewhere
  int64_t density_floats;
};

static inline Vector load(const float* p) { return *(const Vector*)p; }
static inline void store(float* p, Vector v) { *(Vector*)p = v; }
static inline Vector all(float s) { return s - Vector{}; }

static inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

#if defined(__AVX512F__)
static inline Vector larger_half(Vector v) {
  v = larger(v, __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7));
  return larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11));
}
#elif defined(__AVX__)
static inline Vector larger_half(Vector v) { return larger(v, __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3)); }
#else
static inline Vector larger_half(Vector v) { return v; }
#endif

// The largest element of a row.
static inline float largest(const float* row, int64_t width) {
  Vector found = load(row);
  for (int64_t n = LANES; n < width; n += LANES) found = larger(found, load(row + n));
  found = larger_half(found);
  float first = found[0] > found[1] ? found[0] : found[1], second = found[2] > found[3] ? found[2] : found[3];
  return first > second ? first : second;
}

// exp(x) for x <= 0 with a relative error of about 2e-7; zero below LOWEST.
static inline Vector exponential(Vector x) {
  const Vector shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer
  Vector rounded = x * 1.44269504088896341f + shift;
  Vector n = rounded - shift;
  Vector r = x - n * 0.693359375f;
  r = r - n * -2.12194440e-4f;
  Vector p = all(1.9875691500e-4f);
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * (r * r) + (r + 1.0f);
  Integers power = (__builtin_convertvector(n, Integers) + 127) << 23;
  Vector result = p * (Vector)power;
  return x < LOWEST ? Vector{} : result;
}

// The part of the difference that a float cannot hold is a relative error of the result.
static inline float exponential_of(double difference) {
  if (difference < LOWEST) return 0;
  const float nearest = (float)difference;
  return expf(nearest) * (1.0f + (float)(difference - nearest));
}

// sum += part, and adds to `low` what that rounds off (Knuth's TwoSum). Infinite sums have nothing to round off.
static inline void add_exactly(float* sum, float* low, Vector part) {
  const Vector before = load(sum), after = before + part, added = after - before;
  const Vector lost = (before - (after - added)) + (part - added);
  store(sum, after);
  store(low, load(low) + (after - after == Vector{} ? lost : Vector{}));
}

// ---------------------------------------------------------------------------------------------------- matrix products

// C[r][:] (+)= sum_k X[r][k] W[k][:] for R rows and V vectors of columns. What C has is added last: a sum of so many
// numbers that each is below the rounding of the sum would lose them.
template <int R, int V>
static inline void multiply_block(const float* X, int64_t ldx, const float* W, int64_t ldw, int64_t K, float* C,
                                  int64_t ldc, bool accumulate) {
  Vector sums[R][V];
  for (int r = 0; r < R; r++)
    for (int v = 0; v < V; v++) sums[r][v] = Vector{};
  for (int64_t k = 0; k < K; k++) {
    Vector weights[V];
    for (int v = 0; v < V; v++) weights[v] = load(W + k * ldw + v * LANES);
    for (int r = 0; r < R; r++) {
      float x = X[r * ldx + k];
      for (int v = 0; v < V; v++) sums[r][v] += weights[v] * x;
    }
  }
  for (int r = 0; r < R; r++)
    for (int v = 0; v < V; v++) {
      float* to = C + r * ldc + v * LANES;
      store(to, accumulate ? load(to) + sums[r][v] : sums[r][v]);
    }
}

template <int R, int V>
static void multiply_columns(const float* X, int64_t ldx, const float* W, int64_t ldw, int64_t K, float* C, int64_t ldc,
                             int64_t rows, bool accumulate) {
  int64_t b = 0;
  for (; b + R <= rows; b += R) multiply_block<R, V>(X + b * ldx, ldx, W, ldw, K, C + b * ldc, ldc, accumulate);
  for (; b + 4 <= rows; b += 4) multiply_block<4, V>(X + b * ldx, ldx, W, ldw, K, C + b * ldc, ldc, accumulate);
  for (; b < rows; b++) multiply_block<1, V>(X + b * ldx, ldx, W, ldw, K, C + b * ldc, ldc, accumulate);
}

// C (rows, N) (+)= X (rows, K) W (K, N); N is a multiple of LANES, and the distance of rows of W and C.
static void multiply(const float* X, int64_t ldx, const float* W, int64_t K, int64_t N, float* C, int64_t rows,
                     bool accumulate) {
  int64_t n = 0;
  if (REGISTERS == 32)
    for (; n + 4 * LANES <= N; n += 4 * LANES)
      multiply_columns<6, 4>(X, ldx, W + n, N, K, C + n, N, rows, accumulate);
  for (; n + 2 * LANES <= N; n += 2 * LANES)
    multiply_columns<REGISTERS == 32 ? 12 : 5, 2>(X, ldx, W + n, N, K, C + n, N, rows, accumulate);
  for (; n < N; n += LANES)
    multiply_columns<REGISTERS == 32 ? 16 : 10, 1>(X, ldx, W + n, N, K, C + n, N, rows, accumulate);
}

// A sum of many parts: `exact` is memory for a part and for what the parts round off, or null if there are few parts.
struct Accumulator {
  float* out;
  float* exact;
  int64_t rows, N;
  bool begun = false;

  static bool needs_compensation(int64_t parts) { return parts > MANY_PARTS; }
  static int64_t parts_of(int64_t summands) { return (summands + BLOCK_SUMMANDS - 1) / BLOCK_SUMMANDS; }

  // out += X (rows, K) W (K, N)
  void add(const float* X, int64_t ldx, const float* W, int64_t K) {
    for (int64_t k = 0; k < K; k += BLOCK_SUMMANDS) {
      const int64_t count = K - k < BLOCK_SUMMANDS ? K - k : BLOCK_SUMMANDS;
      if (begun && exact) {
        multiply(X + k, ldx, W + k * N, count, N, exact, rows, false);
        for (int64_t n = 0; n < rows * N; n += LANES) add_exactly(out + n, exact + rows * N + n, load(exact + n));
        continue;
      }
      multiply(X + k, ldx, W + k * N, count, N, out, rows, begun);
      begun = true;
      if (exact) memset(exact + rows * N, 0, rows * N * sizeof(float));
    }
  }

  void finish() {
    if (exact)
      for (int64_t n = 0; n < rows * N; n += LANES) store(out + n, load(out + n) + load(exact + rows * N + n));
  }
};

// ------------------------------------------------------------------------------------------------------------- a tile

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

  float* values(int64_t slot) const { return slots + slot * capacity * circuit.slot_floats; }
  double* scales_of(const Unit& unit) const { return scales + unit.slot * capacity; }
  float* bounds_of(const Unit& unit) const { return bounds + unit.slot * capacity; }
  Rows rows_of(const Operand& one) const {
    if (one.slot >= 0) return {values(one.slot), scales + one.slot * capacity, bounds + one.slot * capacity, order, false};
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

  // Makes logarithms in `to`, of which `low` was rounded off, values whose largest is 1.
  void from_logarithms(const Unit& unit, int64_t b, float* to, const float* low) {
    float top = largest(to, unit.out_width);
    for (int64_t n = 0; n < unit.out_width; n += LANES) {
      const Vector below = load(to + n) - top;
      store(to + n, exponential(low ? below + load(low + n) : below));
    }
    scales[unit.slot * capacity + b] = top;
    bounds[unit.slot * capacity + b] = top - top == 0 ? DROPPED : INFINITY;
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf.
  void gaussian(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t width = unit.out_width;
    const bool in_blocks = unit.factors > BLOCK_DENSITIES;
    float* out = values(unit.slot);
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
    float* out = values(unit.slot);
    for (int64_t b = 0; b < rows; b++, out += unit.out_width) {
      const float* from = input.densities + (first + b) * input.density_floats + unit.weight;
      for (int64_t n = 0; n < unit.out_width; n++) out[n] = n < unit.out_units ? from[n] : -INFINITY;
      from_logarithms(unit, b, out, nullptr);
    }
  }

  void product(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    multiply_rows(factors, unit.factors, unit.out_width, nullptr, values(unit.slot));
    product_scales(factors, unit.factors, scales_of(unit));
    product_bounds(factors, unit.factors, bounds_of(unit));
  }

  // Calls `add(h, factors, by)` for each term: the scale of a sum is the largest one of its terms, and a term is
  // multiplied by the quotient. The bound of a term: `norms[h]` is at least the sum of its weights for an output unit.
  template <class Add>
  void add_terms(const Unit& unit, Add add) {
    const Operand* operands = circuit.operands + unit.operands;
    const float* norms = circuit.constants + unit.norms;
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
    Accumulator total{values(unit.slot), many ? scratch + rows * unit.in_width : nullptr, rows, unit.out_width};
    add_terms(unit, [&](int64_t h, const Operand* factors, const float* by) {
      const bool direct = !by && unit.factors == 1 && factors->slot >= 0;
      if (!direct) multiply_rows(factors, unit.factors, unit.in_width, by, scratch);
      total.add(direct ? values(factors->slot) : scratch, unit.in_width,
              circuit.constants + unit.weight + h * unit.in_units * unit.out_width, unit.in_units);
    });
    total.finish();
  }

  void mixing(const Unit& unit) {
    const int64_t width = unit.out_width;
    float* out = values(unit.slot);
    float* low = Accumulator::needs_compensation(unit.terms) ? scratch + rows * width : nullptr;
    if (low) memset(low, 0, rows * width * sizeof(float));
    add_terms(unit, [&](int64_t h, const Operand* factors, const float* by) {
      const float* weights = circuit.constants + unit.weight + h * width;
      multiply_rows(factors, unit.factors, width, by, scratch);
      for (int64_t b = 0; b < rows; b++)
        for (int64_t n = 0; n < width; n += LANES) {
          const int64_t at = b * width + n;
          Vector term = load(scratch + at) * load(weights + n);
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
    float* out = values(unit.slot);
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
        total.add(scratch, columns + LANES, circuit.constants + unit.weight + i * units * unit.out_width, columns);
      }
      total.finish();
    }
    const float norm = circuit.constants[unit.norms], underflow = 4 * (float)(units * units) * SMALLEST;
    product_scales(factors, 2, scales_of(unit));
    product_bounds(factors, 2, bounds_of(unit));
    for (int64_t b = 0; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
  }

  void kronecker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t right_units = unit.out_units / unit.in_units, right_width = unit.weight;
    for (int64_t b = 0; b < rows; b++) {
      float* out = values(unit.slot) + b * unit.out_width;
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
    float* turned = scratch;
    float* product = scratch + Q * J;
    for (int64_t b = 0; b < rows; b++) {
      const float* x = from.values + from.index[b] * unit.in_width;
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) turned[q * J + j] = x[j * Q + q];
      Accumulator{product, nullptr, Q, padded}.add(turned, J, circuit.constants + unit.weight, J);
      float* out = values(unit.slot) + b * unit.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(float));
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
    }
    const float norm = circuit.constants[unit.norms], underflow = 4 * (float)J * SMALLEST;
    product_scales(operand, 1, scales_of(unit));
    product_bounds(operand, 1, bounds_of(unit));
    for (int64_t b = 0; b < rows; b++) bounds_of(unit)[b] = norm * (bounds_of(unit)[b] + 4 * SMALLEST) + underflow;
  }

  // Divides each row by the power of two of its largest element.
  void rescale(const Unit& unit) {
    float* out = values(unit.slot);
    for (int64_t b = 0; b < rows; b++, out += unit.out_width) {
      float top = largest(out, unit.out_width);
      float& bound_of = bounds[unit.slot * capacity + b];
      int32_t bits;
      memcpy(&bits, &top, sizeof bits);
      int32_t exponent = ((bits >> 23) & 255) - 127;
      if (!(top >= SMALLEST) || exponent > 126) {  // zero, too small, infinite or NaN
        bound_of = INFINITY;
        continue;
      }
      bits = (127 - exponent) << 23;
      float by;
      memcpy(&by, &bits, sizeof by);
      for (int64_t n = 0; n < unit.out_width; n += LANES) store(out + n, load(out + n) * by);
      scales[unit.slot * capacity + b] += exponent * LN2;
      bound_of = bound_of * by + SMALLEST;
    }
  }

  void run(const Unit& unit) {
    switch (unit.kind) {
      case GAUSSIAN: gaussian(unit); return;
      case DENSITY: density(unit); return;
      case PRODUCT: product(unit); break;
      case SUM: sum(unit); break;
      case MIXING: mixing(unit); break;
      case TUCKER: tucker(unit); break;
      case KRONECKER: kronecker(unit); break;
      case TENSOR_DOT: tensor_dot(unit); break;
    }
    rescale(unit);
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

static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

static int64_t scratch_bytes(const Circuit* circuit, int64_t capacity) {
  int64_t floats = capacity * circuit->scratch_floats;
  return align((floats > circuit->scratch_fixed ? floats : circuit->scratch_fixed) * 4);
}

extern "C" {

int64_t lanes() { return LANES; }

// The floats of scratch memory that a Tucker unit needs, from the widths of its operands and of its rows.
int64_t tucker_scratch(int64_t in_width, int64_t out_width) {
  return BLOCK_ROWS * (tucker_columns(in_width) + 2 * out_width);
}

int64_t is_equal(const void* one, const void* other, int64_t bytes) { return memcmp(one, other, bytes) == 0; }

// The bytes of memory that `evaluate` needs for tiles of so many rows.
int64_t workspace(const Circuit* circuit, int64_t capacity) {
  return align(circuit->num_slots * capacity * circuit->slot_floats * 4) + align(circuit->num_slots * capacity * 8) +
         align(circuit->num_slots * capacity * 4) + scratch_bytes(circuit, capacity) + align(capacity * 8) +
         4 * align(capacity * 4) +
         align(circuit->num_discrete * capacity * 4) + align(circuit->num_continuous * capacity * 4);
}

// Evaluates rows start .. stop-1 of x. Returns how many of them are not certified, or BAD_INPUT.
int64_t evaluate(const Circuit* circuit, const Input* input, int64_t start, int64_t stop, int64_t capacity,
                 float tolerance, char* memory, float* result, uint8_t* certified) {
  Tile tile{*circuit, *input, start, 0, capacity};
  auto take = [&](int64_t bytes) { char* found = memory; memory += align(bytes); return found; };
  tile.slots = (float*)take(circuit->num_slots * capacity * circuit->slot_floats * 4);
  tile.scales = (double*)take(circuit->num_slots * capacity * 8);
  tile.bounds = (float*)take(circuit->num_slots * capacity * 4);
  tile.scratch = (float*)take(scratch_bytes(circuit, capacity));
  tile.term_scales = (double*)take(capacity * 8);
  tile.term_bounds = (float*)take(capacity * 4);
  tile.term_factors = (float*)take(capacity * 4);
  tile.order = (int32_t*)take(capacity * 4);
  tile.zeros = (int32_t*)take(capacity * 4);
  for (int64_t b = 0; b < capacity; b++) tile.order[b] = b, tile.zeros[b] = 0;
  tile.states = (int32_t*)take(circuit->num_discrete * capacity * 4);
  tile.points = (float*)take(circuit->num_continuous * capacity * 4);
  int64_t failed = 0;
  for (; tile.first < stop; tile.first += capacity) {
    tile.rows = stop - tile.first < capacity ? stop - tile.first : capacity;
    bool legal = input->type == 0 ? tile.read_variables<int64_t>()
               : input->type == 1 ? tile.read_variables<float>()
                                  : tile.read_variables<double>();
    if (!legal) return BAD_INPUT;
    for (int64_t i = 0; i < circuit->num_units; i++) tile.run(circuit->units[i]);
    failed += tile.write(tolerance, result, certified);
  }
  return failed;
}
}
