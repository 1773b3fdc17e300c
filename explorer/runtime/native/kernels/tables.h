// Rows of a table (units, states) for training: in linear scale, each divided by its largest element.
#pragma once
#include "circuit.h"
#include "vectors.h"

// False if an element is NaN, or infinite, or negative where it should not be.
static bool make_table(const Table& table, const float* const* sources, float* constants, double* scales) {
  const float* from = sources[table.source] + table.offset;
  bool legal = true;
  for (int64_t first = 0; first < table.states; first += LANES) {  // in squares: what is written stays in the cache
    const int64_t count = table.states - first < LANES ? table.states - first : LANES;
    float top[LANES];
    for (int64_t v = 0; v < count; v++) top[v] = table.is_logarithm ? -INFINITY : 0;
    for (int64_t k = 0; k < table.units; k++)
      for (int64_t v = 0; v < count; v++) {
        const float element = from[k * table.unit_stride + (first + v) * table.state_stride];
        legal &= element < INFINITY && (table.is_logarithm || element >= 0);
        top[v] = element > top[v] ? element : top[v];
        constants[table.rows + (first + v) * table.width + k] = element;
      }
    for (int64_t v = 0; v < count; v++) {
      float* row = constants + table.rows + (first + v) * table.width;
      for (int64_t n = table.units; n < table.width; n++) row[n] = table.is_logarithm ? -INFINITY : 0;
      double& scale = scales[table.scales + first + v];
      float& bound = constants[table.bounds + first + v];
      if (table.is_logarithm) {
        const float by = top[v] == -INFINITY ? 0 : top[v];
        for (int64_t n = 0; n < table.width; n += LANES) store(row + n, exponential(load(row + n) - by));
        scale = by;
        bound = DROPPED;
      } else {
        const bool is_zero = top[v] < SMALLEST;  // what softmax makes of very small numbers is lost
        const float by = is_zero ? 0 : 1 / top[v];
        for (int64_t n = 0; n < table.width; n += LANES) store(row + n, load(row + n) * by);
        scale = is_zero ? 0 : log((double)top[v]);
        bound = is_zero ? INFINITY : 2 * SMALLEST * by + SMALLEST;
      }
    }
  }
  return legal;
}
