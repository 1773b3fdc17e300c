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

enum Kind : int32_t { GAUSSIAN, PRODUCT, SUM, MIXING, TUCKER, KRONECKER, TENSOR_DOT, DENSITY };
enum Status : int64_t { BAD_INPUT = -1 };

// An input of a unit: the values of another one in a slot, or the rows of a table by the value of a variable.
struct Operand {
  int64_t slot;      // -1: a table
  int64_t variable;  // position among the discrete variables; -1: a table with one row
  int64_t rows;      // offset of the table's rows
  int64_t scales;    // offset of their scales
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

static inline float largest(const float* row, int64_t width) {
  Vector found = load(row);
  for (int64_t n = LANES; n < width; n += LANES) found = larger(found, load(row + n));
  float result = found[0];
  for (int i = 1; i < LANES; i++) result = found[i] > result ? found[i] : result;
  return result;
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

static inline float exponential_of(double difference) { return difference < LOWEST ? 0.0f : expf((float)difference); }

// ---------------------------------------------------------------------------------------------------- matrix products

// C[r][:] (+)= sum_k X[r][k] W[k][:] for R rows and V vectors of columns.
template <int R, int V>
static inline void multiply_block(const float* X, int64_t ldx, const float* W, int64_t ldw, int64_t K, float* C,
                                  int64_t ldc, bool accumulate) {
  Vector sums[R][V];
  for (int r = 0; r < R; r++)
    for (int v = 0; v < V; v++) sums[r][v] = accumulate ? load(C + r * ldc + v * LANES) : Vector{};
  for (int64_t k = 0; k < K; k++) {
    Vector weights[V];
    for (int v = 0; v < V; v++) weights[v] = load(W + k * ldw + v * LANES);
    for (int r = 0; r < R; r++) {
      float x = X[r * ldx + k];
      for (int v = 0; v < V; v++) sums[r][v] += weights[v] * x;
    }
  }
  for (int r = 0; r < R; r++)
    for (int v = 0; v < V; v++) store(C + r * ldc + v * LANES, sums[r][v]);
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

// ------------------------------------------------------------------------------------------------------------- a tile

struct Tile {
  const Circuit& circuit;
  const Input& input;
  int64_t first, rows, capacity;
  float* slots;
  double* scales;
  float* bounds;
  float* scratch;
  int32_t* states;  // (num_discrete, capacity)
  float* points;    // (num_continuous, capacity)

  float* values(int64_t slot) const { return slots + slot * capacity * circuit.slot_floats; }
  int64_t state(const Operand& one, int64_t b) const { return one.variable < 0 ? 0 : states[one.variable * capacity + b]; }
  const float* row(const Operand& one, int64_t width, int64_t b) const {
    return one.slot >= 0 ? values(one.slot) + b * width : circuit.constants + one.rows + state(one, b) * width;
  }
  double scale(const Operand& one, int64_t b) const {
    return one.slot >= 0 ? scales[one.slot * capacity + b] : circuit.scales[one.scales + state(one, b)];
  }
  float bound(const Operand& one, int64_t b) const { return one.slot >= 0 ? bounds[one.slot * capacity + b] : SMALLEST; }

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

  // The bound of a product: |x y - x' y'| <= 2 e_y + 2 e_x + e_x e_y for x, y <= 2, and what underflows.
  float product_bound(const Operand* factors, int64_t count, int64_t b) const {
    float found = bound(factors[0], b), most = 2;
    for (int64_t c = 1; c < count; c++, most *= 2) {
      float one = bound(factors[c], b);
      found = found * 2 + most * one + found * one + SMALLEST;
    }
    return found;
  }

  double product_scale(const Operand* factors, int64_t count, int64_t b) const {
    double sum = scale(factors[0], b);
    for (int64_t c = 1; c < count; c++) sum += scale(factors[c], b);
    return sum;
  }

  // One row of the product of some operands, times a number.
  void multiply_rows(const Operand* factors, int64_t count, int64_t width, int64_t b, float by, float* to) const {
    const float* first_row = row(factors[0], width, b);
    if (count == 2) {
      const float* second_row = row(factors[1], width, b);
      for (int64_t n = 0; n < width; n += LANES) store(to + n, load(first_row + n) * load(second_row + n) * by);
      return;
    }
    for (int64_t n = 0; n < width; n += LANES) store(to + n, load(first_row + n) * by);
    for (int64_t c = 1; c < count; c++) {
      const float* other = row(factors[c], width, b);
      for (int64_t n = 0; n < width; n += LANES) store(to + n, load(to + n) * load(other + n));
    }
  }

  // Makes logarithms in `to` values whose largest is 1.
  void from_logarithms(const Unit& unit, int64_t b, float* to) {
    float top = largest(to, unit.out_width);
    for (int64_t n = 0; n < unit.out_width; n += LANES) store(to + n, exponential(load(to + n) - top));
    scales[unit.slot * capacity + b] = top;
    bounds[unit.slot * capacity + b] = top - top == 0 ? DROPPED : INFINITY;
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf.
  void gaussian(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t width = unit.out_width;
    float* out = values(unit.slot);
    for (int64_t b = 0; b < rows; b++, out += width) {
      for (int64_t c = 0; c < unit.factors; c++) {
        const float* mean = circuit.constants + factors[c].rows;
        const Vector x = all(points[factors[c].variable * capacity + b]);
        for (int64_t n = 0; n < width; n += LANES) {
          Vector z = (x - load(mean + n)) * load(mean + width + n);
          z = load(mean + 2 * width + n) - z * z;
          store(out + n, c ? load(out + n) + z : z);
        }
      }
      from_logarithms(unit, b, out);
    }
  }

  void density(const Unit& unit) {
    float* out = values(unit.slot);
    for (int64_t b = 0; b < rows; b++, out += unit.out_width) {
      const float* from = input.densities + (first + b) * input.density_floats + unit.weight;
      for (int64_t n = 0; n < unit.out_width; n++) out[n] = n < unit.out_units ? from[n] : -INFINITY;
      from_logarithms(unit, b, out);
    }
  }

  void product(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    float* out = values(unit.slot);
    for (int64_t b = 0; b < rows; b++) {
      multiply_rows(factors, unit.factors, unit.out_width, b, 1.0f, out + b * unit.out_width);
      scales[unit.slot * capacity + b] = product_scale(factors, unit.factors, b);
      bounds[unit.slot * capacity + b] = product_bound(factors, unit.factors, b);
    }
  }

  // The scale of a sum is the largest one of its terms; a term is multiplied by the quotient.
  double top_scale(const Unit& unit, int64_t b) const {
    double top = -INFINITY;
    for (int64_t h = 0; h < unit.terms; h++) {
      double one = product_scale(circuit.operands + unit.operands + h * unit.factors, unit.factors, b);
      top = one > top ? one : top;
    }
    return top;
  }

  // The bound of a term: `norm` is at least the sum of its weights for any output unit.
  float term_bound(const Unit& unit, const Operand* factors, float norm, float by, int64_t b) const {
    float lost = by == 0 ? ldexpf(DROPPED, (int)unit.factors) : SMALLEST;
    return norm * (product_bound(factors, unit.factors, b) * by + lost) + (float)unit.in_units * SMALLEST;
  }

  void sum(const Unit& unit) {
    const Operand* operands = circuit.operands + unit.operands;
    const float* norms = circuit.constants + unit.norms;
    float* out = values(unit.slot);
    double* scale_of = scales + unit.slot * capacity;
    float* bound_of = bounds + unit.slot * capacity;
    for (int64_t b = 0; b < rows; b++) scale_of[b] = top_scale(unit, b), bound_of[b] = 0;
    for (int64_t h = 0; h < unit.terms; h++) {
      const Operand* factors = operands + h * unit.factors;
      const bool direct = unit.terms == 1 && unit.factors == 1 && factors->slot >= 0;
      const float* from = direct ? values(factors->slot) : scratch;
      for (int64_t b = 0; b < rows; b++) {
        float by = unit.terms == 1 ? 1.0f : exponential_of(product_scale(factors, unit.factors, b) - scale_of[b]);
        if (!direct) multiply_rows(factors, unit.factors, unit.in_width, b, by, scratch + b * unit.in_width);
        bound_of[b] += term_bound(unit, factors, norms[h], by, b);
      }
      multiply(from, unit.in_width, circuit.constants + unit.weight + h * unit.in_units * unit.out_width, unit.in_units,
               unit.out_width, out, rows, h > 0);
    }
  }

  void mixing(const Unit& unit) {
    const Operand* operands = circuit.operands + unit.operands;
    const float* weights = circuit.constants + unit.weight;
    const float* norms = circuit.constants + unit.norms;
    const int64_t width = unit.out_width;
    for (int64_t b = 0; b < rows; b++) {
      float* out = values(unit.slot) + b * width;
      double top = top_scale(unit, b);
      float bound_sum = 0;
      for (int64_t h = 0; h < unit.terms; h++) {
        const Operand* factors = operands + h * unit.factors;
        float by = exponential_of(product_scale(factors, unit.factors, b) - top);
        multiply_rows(factors, unit.factors, width, b, by, scratch);
        for (int64_t n = 0; n < width; n += LANES) {
          Vector term = load(scratch + n) * load(weights + h * width + n);
          store(out + n, h ? load(out + n) + term : term);
        }
        bound_sum += term_bound(unit, factors, norms[h], by, b);
      }
      scales[unit.slot * capacity + b] = top;
      bounds[unit.slot * capacity + b] = bound_sum;
    }
  }

  // A sum over the Kronecker product of two operands, which is expanded in blocks that stay in the cache.
  void tucker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t units = unit.in_units, width = unit.in_width;
    const int64_t chunk = units > BLOCK_COLUMNS ? 1 : BLOCK_COLUMNS / units;
    float* out = values(unit.slot);
    const float norm = circuit.constants[unit.norms];
    for (int64_t start = 0; start < rows; start += BLOCK_ROWS) {
      const int64_t block = rows - start < BLOCK_ROWS ? rows - start : BLOCK_ROWS;
      for (int64_t i = 0; i < units; i += chunk) {
        const int64_t count = units - i < chunk ? units - i : chunk, columns = count * units;
        for (int64_t r = 0; r < block; r++) {
          const float* left = row(factors[0], width, start + r);
          const float* right = row(factors[1], width, start + r);
          float* to = scratch + r * (columns + LANES);
          for (int64_t j = 0; j < count; j++)
            for (int64_t n = 0; n < units; n += LANES) store(to + j * units + n, load(right + n) * left[i + j]);
        }
        multiply(scratch, columns + LANES, circuit.constants + unit.weight + i * units * unit.out_width, columns,
                 unit.out_width, out + start * unit.out_width, block, i > 0);
      }
    }
    for (int64_t b = 0; b < rows; b++) {
      scales[unit.slot * capacity + b] = product_scale(factors, 2, b);
      bounds[unit.slot * capacity + b] =
          norm * (product_bound(factors, 2, b) + SMALLEST) + (float)(units * units) * SMALLEST;
    }
  }

  void kronecker(const Unit& unit) {
    const Operand* factors = circuit.operands + unit.operands;
    const int64_t right_units = unit.out_units / unit.in_units;
    for (int64_t b = 0; b < rows; b++) {
      float* out = values(unit.slot) + b * unit.out_width;
      const float* left = row(factors[0], unit.in_width, b);
      const float* right = row(factors[1], unit.weight, b);  // `weight` is the padded width of the right operand
      for (int64_t i = 0; i < unit.in_units; i++)
        for (int64_t j = 0; j < right_units; j++) out[i * right_units + j] = left[i] * right[j];
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
      scales[unit.slot * capacity + b] = product_scale(factors, 2, b);
      bounds[unit.slot * capacity + b] = product_bound(factors, 2, b);
    }
  }

  // y[q P + p] = sum_j w[j][p] x[j Q + q]; `terms` is J, `factors` the padded P.
  void tensor_dot(const Unit& unit) {
    const Operand& operand = circuit.operands[unit.operands];
    const int64_t J = unit.terms, Q = unit.in_units / J, P = unit.out_units / Q, padded = unit.factors;
    const float norm = circuit.constants[unit.norms];
    float* turned = scratch;
    float* product = scratch + Q * J;
    for (int64_t b = 0; b < rows; b++) {
      const float* x = row(operand, unit.in_width, b);
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) turned[q * J + j] = x[j * Q + q];
      multiply(turned, J, circuit.constants + unit.weight, J, padded, product, Q, false);
      float* out = values(unit.slot) + b * unit.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(float));
      for (int64_t n = unit.out_units; n < unit.out_width; n++) out[n] = 0;
      scales[unit.slot * capacity + b] = scale(operand, b);
      bounds[unit.slot * capacity + b] = norm * (bound(operand, b) + SMALLEST) + (float)J * SMALLEST;
    }
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
        const Operand& one = circuit.operands[circuit.outputs[i]];
        const float* from = row(one, width, b);
        const double scale_of = scale(one, b);
        const float bound_of = bound(one, b);
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

// The floats of scratch memory that a Tucker unit needs.
int64_t tucker_scratch(int64_t units) {
  return BLOCK_ROWS * ((units > BLOCK_COLUMNS ? units : BLOCK_COLUMNS) + 2 * LANES);
}

// The bytes of memory that `evaluate` needs for tiles of so many rows.
int64_t workspace(const Circuit* circuit, int64_t capacity) {
  return align(circuit->num_slots * capacity * circuit->slot_floats * 4) + align(circuit->num_slots * capacity * 8) +
         align(circuit->num_slots * capacity * 4) + scratch_bytes(circuit, capacity) +
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
