// Vectors of numbers: the extension of GCC and Clang, as wide as the registers of the processor.
#pragma once
#include <cmath>
#include <cstring>
#include <type_traits>
#include <utility>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "real.h"

#if defined(__AVX512F__)
constexpr int VECTOR_BYTES = 64;
#elif defined(__AVX__)
constexpr int VECTOR_BYTES = 32;
#else
constexpr int VECTOR_BYTES = 16;
#endif
constexpr int LANES = VECTOR_BYTES / sizeof(Real);
#if defined(__AVX512F__) || defined(__aarch64__)
constexpr int REGISTERS = 32;
#else
constexpr int REGISTERS = 16;
#endif

// Before a loop with arrays that should stay in registers.
#define UNROLL _Pragma("GCC unroll 16")
// Before a loop with rounds that read nothing that other rounds write.
#if defined(__clang__)
#define INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define INDEPENDENT _Pragma("GCC ivdep")
#endif
// Makes the compiler believe that a vector in memory is needed.
#define KEEP(vector) asm volatile("" : : "m"(vector))

typedef Real Vector __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
typedef Bits Integers __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));

constexpr double LN2 = 0.69314718055994530942;

static inline Vector load(const Real* p) { return *(const Vector*)p; }
static inline void store(Real* p, Vector v) { *(Vector*)p = v; }
static inline Vector all(Real s) { return s - Vector{}; }

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

// The bits that any lane has.
template <class Some, int... L>
static inline Bits bits_of_any(Some v, std::integer_sequence<int, L...>) {
  constexpr int HALF = sizeof...(L);
  const auto both = __builtin_shufflevector(v, v, L...) | __builtin_shufflevector(v, v, (HALF + L)...);
  if constexpr (HALF > 2) return bits_of_any(both, std::make_integer_sequence<int, HALF / 2>{});
  else if constexpr (HALF == 2) return both[0] | both[1];
  else return both[0];
}
static inline Bits bits_of_any(Integers v) { return bits_of_any(v, std::make_integer_sequence<int, LANES / 2>{}); }
static inline bool is_zero(Integers v) { return bits_of_any(v) == 0; }

static inline Vector larger(Vector a, Vector b) { return a > b ? a : b; }

// exp(x) for x <= 0 with a relative error of about 2e-7, or 3e-16 for doubles; zero below LOWEST. It is 2^n exp(r): adding
// `SHIFT` rounds to an integer, which is in the last bits. With an EXPONENT, times 2^EXPONENT, and zero further below.
#if defined(__AVX512F__) && !defined(DOUBLES)
// n is a multiple of 1/16, and |r| <= log(2) / 32: 2^n is one of sixteen roots of two, times a power of two.
template <int EXPONENT = 0>
static inline Vector exponential(Vector x) {
  constexpr Real SHIFTED = SHIFT + 16 * EXPONENT, LEAST = LOWEST - EXPONENT * (Real)LN2;
  const Vector rounded = x * (16 * LOG2E) + SHIFTED, n = rounded - SHIFTED;
  const Vector r = (x - n * (LN2_HIGH / 16)) - n * (LN2_LOW / 16);
  const Vector q = ((r * (1.0f / 6) + 0.5f) * r + 1.0f) * r;  // exp(r) - 1
  const Integers root = (Integers)_mm512_permutexvar_epi32((__m512i)rounded, _mm512_loadu_si512(ROOTS));
  const Vector power = (Vector)(root + ((Integers)rounded << (MANTISSA - 4)));
  return x < LEAST ? Vector{} : power * q + power;
}
#else
// n is an integer, and |r| <= log(2) / 2.
template <int EXPONENT = 0>
static inline Vector exponential(Vector x) {
  constexpr Real SHIFTED = SHIFT + EXPONENT, LEAST = LOWEST - EXPONENT * (Real)LN2;
  const Vector rounded = x * LOG2E + SHIFTED, n = rounded - SHIFTED;
  const Vector r = (x - n * LN2_HIGH) - n * LN2_LOW;
  Vector p = all(EXPONENTIAL[0]);
  UNROLL for (int i = 1; i <= DEGREE; i++) p = p * r + EXPONENTIAL[i];
  const Integers power = ((Integers)rounded + BIAS) << MANTISSA;
  return x < LEAST ? Vector{} : p * (Vector)power;
}
#endif

// sum += part, and adds to `low` what that rounds off (Knuth's TwoSum). Infinite sums have nothing to round off.
static inline void add_exactly(Real* sum, Real* low, Vector part) {
  const Vector before = load(sum), after = before + part, added = after - before;
  const Vector lost = (before - (after - added)) + (part - added);
  store(sum, after);
  store(low, load(low) + (after - after == Vector{} ? lost : Vector{}));
}
