// Rows of a table (units, states) for training: in linear scale, each divided by its largest element.
#pragma once
#include "reductions.h"
#include "transpose.h"
#include "vectors.h"

constexpr float TINIEST = 1.4e-45f;    // the smallest float above zero
constexpr int64_t BLOCK_STATES = 256;  // are added up in single precision

// Writes row `at` and its scale and bound from its elements in `room`, the largest of which is `top`.
static void finish_row(const Table& table, int64_t at, float top, float* constants, double* scales,
                       const float* room) {
  float* row = constants + table.rows + at * table.width;
  if (table.content != LINEAR) {
    const float by = top == -INFINITY ? 0 : top;
    for (int64_t n = 0; n < table.width; n += LANES) store(row + n, exponential(load(room + n) - by));
    scales[table.scales + at] = by;
    constants[table.bounds + at] = DROPPED;
  } else {
    const bool vanishes = top < SMALLEST;  // what a softmax makes of very small numbers is lost
    const float by = vanishes ? 0 : 1 / top;
    for (int64_t n = 0; n < table.width; n += LANES) {
      const Vector given = load(room + n), scaled = given * by;
      store(row + n, scaled == Vector{} && given > Vector{} ? all(TINIEST) : scaled);  // zeros have no gradients
    }
    scales[table.scales + at] = vanishes ? 0 : log((double)top);
    constants[table.bounds + at] = vanishes ? INFINITY : 2 * SMALLEST * by + SMALLEST;
  }
}

// A checksum with more bits: a rotation, an exclusive or and a sum, of which no two commute. In a sum alone, flipped signs,
// or exponents that all grow by one number, would cancel.
typedef uint32_t Naturals __attribute__((vector_size(VECTOR_BYTES), aligned(4), may_alias));
template <class N>
static N mixed(N sum, N bits) {
  sum = ((sum << 5) | (sum >> 27)) ^ bits;
  return sum + (sum << 3);
}

// A number that depends on the bits of all elements and on their order.
static int32_t checksum_of(const float* from, int64_t count) {
  const int64_t whole = count / LANES * LANES;
  Naturals sums{};
  uint32_t found[LANES], sum = 0;
  for (int64_t v = 0; v < whole; v += LANES) {
    const Vector some = load(from + v);
    Naturals bits;
    memcpy(&bits, &some, sizeof bits);
    sums = mixed(sums, bits);
  }
  memcpy(found, &sums, sizeof sums);
  for (int64_t i = 0; i < LANES; i++) sum = mixed(sum, found[i]);
  for (int64_t v = whole; v < count; v++) {
    uint32_t bits;
    memcpy(&bits, from + v, sizeof bits);
    sum = mixed(sum, bits);
  }
  return (int32_t)sum;
}

// log sum exp over the states of each unit: x - it is the logarithm of a probability. It is a sum of two floats, as one
// would round what logits of any size have in common, and so each logarithm. After them come the checksums of the
// logits, which the backward pass reads again. False if a number is not finite.
static bool normalize(const Table& table, const float* const* sources, float* constants) {
  bool legal = true;
  for (int64_t k = 0; k < table.units; k++) {
    const float* from = sources[table.source] + table.offset + k * table.unit_stride;
    const int64_t whole = table.states / LANES * LANES;
    float top = whole ? largest(from, whole) : -INFINITY;
    for (int64_t v = whole; v < table.states; v++) top = from[v] > top ? from[v] : top;
    double total = 0;
    for (int64_t first = 0; first < whole; first += BLOCK_STATES) {
      Vector sums{};
      for (int64_t v = first; v < whole && v < first + BLOCK_STATES; v += LANES) sums += exponential(load(from + v) - top);
      total += sum_of(sums);
    }
    for (int64_t v = whole; v < table.states; v++) total += exponential_of((double)from[v] - top);
    const double found = top + log(total);
    legal &= found - found == 0;
    constants[table.normalizers + k] = (float)found;
    constants[table.normalizers + table.width + k] = (float)(found - (float)found);
    const int32_t checksum = checksum_of(from, table.states);
    memcpy(constants + table.normalizers + 2 * table.width + k, &checksum, sizeof checksum);
  }
  for (int64_t k = table.units; k < table.width; k++)
    constants[table.normalizers + k] = constants[table.normalizers + table.width + k] = 0;
  return legal;
}

// Makes row `at` for a state, in `constants`; `room` is memory for a row. Threads may make the same one: each writes the
// same bits, once. False if an element is NaN, or infinite, or negative where it should not be.
static bool make_row(const Table& table, int64_t state, int64_t at, const float* const* sources, float* constants,
                     double* scales, float* room) {
  const float* from = sources[table.source] + table.offset + state * table.state_stride;
  float top = table.content != LINEAR ? -INFINITY : 0;
  bool legal = true;
  for (int64_t k = 0; k < table.units; k++) {
    float element = from[k * table.unit_stride];
    if (table.content == NORMALIZED)
      element = (element - constants[table.normalizers + k]) - constants[table.normalizers + table.width + k];
    legal &= element < INFINITY && (table.content != LINEAR || element >= 0);
    top = element > top ? element : top;
    room[k] = element;
  }
  for (int64_t k = table.units; k < table.width; k++) room[k] = table.content != LINEAR ? -INFINITY : 0;
  finish_row(table, at, top, constants, scales, room);
  return legal;
}

// Makes the rows of all states, where the elements of a unit are next to each other. `room` is memory for LANES rows.
static bool make_all_rows(const Table& table, const float* const* sources, float* constants, double* scales,
                          float* room) {
  Integers illegal{};
  for (int64_t first = 0; first < table.states; first += LANES) {
    const int64_t count = table.states - first < LANES ? table.states - first : LANES;
    const float* from = sources[table.source] + table.offset + first;
    transpose(from, table.states, table.units, count, room, table.width);
    for (int64_t v = 0; v < count; v++) {
      float* row = room + v * table.width;
      for (int64_t k = table.units; k < table.width; k++) row[k] = table.content != LINEAR ? -INFINITY : 0;
      if (table.content == NORMALIZED)
        for (int64_t n = 0; n < table.width; n += LANES)
          store(row + n, (load(row + n) - load(constants + table.normalizers + n)) -
                             load(constants + table.normalizers + table.width + n));
      for (int64_t n = 0; n < table.width; n += LANES)
        illegal |= ~(load(row + n) < all(INFINITY)) | (table.content != LINEAR ? Integers{} : ~(load(row + n) >= Vector{}));
      finish_row(table, first + v, largest(row, table.width), constants, scales, row);
    }
  }
  return is_zero(illegal);
}
