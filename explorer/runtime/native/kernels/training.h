// The forward pass of training: weights and tables are read from the tensors of PyTorch, which change in each step.
#pragma once
#include "forward.h"
#include "tables.h"

constexpr float NORM_MARGIN = 1.001f;    // sums of weights are rounded, and bounds are not smaller than the sums
constexpr uint8_t WANTED = 1, MADE = 2;  // of the row of a state

struct TrainingTile : Tile {
  float* transposed_weights;  // of the present unit; `weights` points there
  float* norms_of_terms;      // and `norms` there
  uint8_t* made;              // of the rows of all tables, whether they have been made

  // False if the unit has weights that have no bound.
  bool run(const Unit& unit) {
    if (unit.kind == TABLE) return make_rows(unit);
    if (!transpose_weights(unit)) return false;
    compute(unit);
    return true;
  }

  // Transposes the weights of a unit, and adds them up for its bounds. False if one is negative or NaN.
  bool transpose_weights(const Unit& unit) {
    if (unit.source < 0) return true;
    const bool dot = unit.kind == TENSOR_DOT;
    const int64_t P = dot ? unit.out_units / (unit.in_units / unit.terms) : unit.out_units;
    const int64_t block = dot ? unit.terms : unit.kind == MIXING ? 1 : unit.kind == TUCKER ? unit.in_units * unit.in_units
                                                                                          : unit.in_units;
    const int64_t terms = unit.kind == SUM || unit.kind == MIXING ? unit.terms : 1;
    const int64_t columns = terms * block, width = dot ? unit.factors : unit.out_width;
    const float* from = training->sources[unit.source] + unit.weight;
    if (P < width) memset(transposed_weights, 0, columns * width * sizeof(float));
    Integers bad{};
    for (int64_t h = 0; h < terms; h++) {
      float most = 0;
      for (int64_t o = 0; o < P; o++) {
        const float* row = from + o * columns + h * block;
        Vector sums{};
        int64_t i = 0;
        for (; i + LANES <= block; i += LANES) {
          const Vector some = load(row + i);
          bad |= ~(some >= Vector{});
          sums += some;
        }
        float sum = 0;
        for (; i < block; i++) {
          bad[0] |= row[i] >= 0 ? 0 : -1;
          sum += row[i];
        }
        sum += sum_of(sums);
        most = sum <= most ? most : sum;
      }
      norms_of_terms[h] = most * NORM_MARGIN + SMALLEST;
    }
    transpose(from, columns, P, columns, transposed_weights, width);
    weights = transposed_weights;
    norms = norms_of_terms;
    return is_zero(bad);
  }

  // Makes the rows of a table that the tile reads. `weight` is the number of the table.
  bool make_rows(const Unit& unit) {
    const Table& table = training->tables[unit.weight];
    const Operand& operand = circuit.operands[unit.operands];
    const State* state = states_of(operand);
    float* constants = (float*)circuit.constants;
    double* scales_of_rows = (double*)circuit.scales;
    uint8_t* made_rows = made + table.scales;
    bool legal = true;
    if (operand.by_row) {
      if (table.content == NORMALIZED && !(made_rows[0] & MADE)) legal &= normalize(table, training->sources, constants);
      made_rows[0] = MADE;
      for (int64_t b = 0; b < rows; b++)
        legal &= make_row(table, state[b], first + b, training->sources, constants, scales_of_rows, scratch);
      return legal;
    }
    int64_t fresh = 0;
    for (int64_t b = 0; b < rows; b++) fresh += made_rows[state[b]] == 0, made_rows[state[b]] |= WANTED;
    if (!fresh) return true;
    if (table.content == NORMALIZED && !normalize(table, training->sources, constants)) return false;
    if (table.state_stride == 1 && 2 * fresh >= table.states) {
      memset(made_rows, MADE, table.states);
      return make_all_rows(table, training->sources, constants, scales_of_rows, scratch);
    }
    for (int64_t b = 0; b < rows; b++) {
      if (made_rows[state[b]] & MADE) continue;
      made_rows[state[b]] = MADE;
      legal &= make_row(table, state[b], state[b], training->sources, constants, scales_of_rows, scratch);
    }
    return legal;
  }
};
