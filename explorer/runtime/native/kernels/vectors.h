// Vectors of floats: the extension of GCC and Clang, as wide as the registers of the processor.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>


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

// Before a loop whose arrays should stay in registers.
#define UNROLL _Pragma("GCC unroll 16")
// Makes the compiler believe that a vector in memory is needed.
#define KEEP(vector) asm volatile("" : : "m"(vector))

typedef float Vector __attribute__((vector_size(LANES * 4), aligned(4), may_alias));
typedef int32_t Integers __attribute__((vector_size(LANES * 4), aligned(4), may_alias));

constexpr float SMALLEST = 1.17549435e-38f;  // the smallest normal float: below it, bits are lost
constexpr float TINIEST = 1.4e-45f;          // the smallest float above zero
constexpr float LOWEST = -87.0f;             // exp of less is taken as zero
constexpr float DROPPED = 1.7e-38f;          // above exp(LOWEST)
constexpr double LN2 = 0.69314718055994530942;

static inline Vector load(const float* p) { return *(const Vector*)p; }
static inline void store(float* p, Vector v) { *(Vector*)p = v; }
static inline Vector all(float s) { return s - Vector{}; }

// Calls `compute` with the number of vectors of a row: as a constant for common ones, else 0.
template <class Compute>
static inline void with_vectors(int64_t width, Compute compute) {
  switch (width / LANES) {
    case 1: return compute(std::integral_constant<int, 1>{});
    case 2: return compute(std::integral_constant<int, 2>{});
    case 4: return compute(std::integral_constant<int, 4>{});
    default: return compute(std::integral_constant<int, 0>{});
  }
}

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

static inline bool is_zero(Integers v) {
  int32_t any = 0;
  for (int lane = 0; lane < LANES; lane++) any |= v[lane];
  return any == 0;
}

// The sum of the elements, in pairs.
static inline float sum_of(Vector v) {
#if defined(__AVX512F__)
  v += __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15, 0, 1, 2, 3, 4, 5, 6, 7);
  v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3, 12, 13, 14, 15, 8, 9, 10, 11);
#elif defined(__AVX__)
  v += __builtin_shufflevector(v, v, 4, 5, 6, 7, 0, 1, 2, 3);
#endif
  return (v[0] + v[2]) + (v[1] + v[3]);
}

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
  const Vector shift = all(12582912.0f);  // 1.5 * 2^23: adding it rounds to an integer, which is in the last bits
  const Vector rounded = x * 1.44269504088896341f + shift, n = rounded - shift;
  const Vector r = (x - n * 0.693359375f) - n * -2.12194440e-4f;
  Vector p = all(1.3814539570e-3f);  // on [-log(2)/2, log(2)/2] within 4e-9 of exp
  p = p * r + 8.3687451608e-3f;
  p = p * r + 4.1668390796e-2f;
  p = p * r + 1.6666520398e-1f;
  p = p * r + 4.9999993432e-1f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const Integers power = ((Integers)rounded + 127) << 23;
  return x < LOWEST ? Vector{} : p * (Vector)power;
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
