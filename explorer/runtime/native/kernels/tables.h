// Rows of a table (units, states) for training: in linear scale, each divided by its largest element.
#pragma once
#include "circuit.h"
#include "transpose.h"
#include "vectors.h"

// Writes the row of a state and its scale and bound from its elements in `room`, the largest of which is `top`.
static void finish_row(const Table& table, int64_t state, float top, float* constants, double* scales,
                       const float* room) {
  float* row = constants + table.rows + state * table.width;
  if (table.is_logarithm) {
    const float by = top == -INFINITY ? 0 : top;
    for (int64_t n = 0; n < table.width; n += LANES) store(row + n, exponential(load(room + n) - by));
    scales[table.scales + state] = by;
    constants[table.bounds + state] = DROPPED;
  } else {
    const bool vanishes = top < SMALLEST;  // what a softmax makes of very small numbers is lost
    const float by = vanishes ? 0 : 1 / top;
    for (int64_t n = 0; n < table.width; n += LANES) store(row + n, load(room + n) * by);
    scales[table.scales + state] = vanishes ? 0 : log((double)top);
    constants[table.bounds + state] = vanishes ? INFINITY : 2 * SMALLEST * by + SMALLEST;
  }
}

// Makes the row of a state, in `constants`; `room` is memory for a row. Threads may make the same one: each writes the
// same bits, once. False if an element is NaN, or infinite, or negative where it should not be.
static bool make_row(const Table& table, int64_t state, const float* const* sources, float* constants, double* scales,
                     float* room) {
  const float* from = sources[table.source] + table.offset + state * table.state_stride;
  float top = table.is_logarithm ? -INFINITY : 0;
  bool legal = true;
  for (int64_t k = 0; k < table.units; k++) {
    const float element = from[k * table.unit_stride];
    legal &= element < INFINITY && (table.is_logarithm || element >= 0);
    top = element > top ? element : top;
    room[k] = element;
  }
  for (int64_t k = table.units; k < table.width; k++) room[k] = table.is_logarithm ? -INFINITY : 0;
  finish_row(table, state, top, constants, scales, room);
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
      for (int64_t k = table.units; k < table.width; k++) row[k] = table.is_logarithm ? -INFINITY : 0;
      for (int64_t n = 0; n < table.width; n += LANES)
        illegal |= ~(load(row + n) < all(INFINITY)) | (table.is_logarithm ? Integers{} : ~(load(row + n) >= Vector{}));
      finish_row(table, first + v, largest(row, table.width), constants, scales, row);
    }
  }
  return is_zero(illegal);
}
