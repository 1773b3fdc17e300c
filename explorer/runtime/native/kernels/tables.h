// Rows of a table (units, states) for training: in linear scale, each divided by its largest element.
#pragma once
#include "circuit.h"
#include "vectors.h"

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
  float* row = constants + table.rows + state * table.width;
  if (table.is_logarithm) {
    const float by = top == -INFINITY ? 0 : top;
    for (int64_t n = 0; n < table.width; n += LANES) store(row + n, exponential(load(room + n) - by));
    scales[table.scales + state] = by;
    constants[table.bounds + state] = DROPPED;
  } else {
    const bool is_zero = top < SMALLEST;  // what a softmax makes of very small numbers is lost
    const float by = is_zero ? 0 : 1 / top;
    for (int64_t n = 0; n < table.width; n += LANES) store(row + n, load(room + n) * by);
    scales[table.scales + state] = is_zero ? 0 : log((double)top);
    constants[table.bounds + state] = is_zero ? INFINITY : 2 * SMALLEST * by + SMALLEST;
  }
  return legal;
}
