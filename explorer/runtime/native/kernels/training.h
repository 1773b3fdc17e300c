// The forward pass of training: weights and tables are read from the tensors of PyTorch, which change in each step.
#pragma once
#include "forward.h"
#include "softmax.h"
#include "tables.h"

constexpr float NORM_MARGIN = 1.001f;    // sums of weights are rounded, and bounds are not smaller than the sums
constexpr uint8_t WANTED = 1, MADE = 2;  // of the row of a state

struct TrainingTile : Tile {
  float* transposed_weights;  // of the present call; `weights` points there
  float* norms_of_terms;      // and `norms` there
  uint8_t* made;              // of the rows of all tables, whether they have been made

  // False if the call has weights that have no bound.
  bool run(const KernelCall& call) {
    if (call.kind == TABLE) return make_rows(call);
    if (!transpose_weights(call)) return false;
    compute(call);
    absorb(call);
    return true;
  }

  // Weights (rows, columns) of a call are kept as columns (columns, width).
  static int64_t weight_rows(const KernelCall& call) {
    return call.kind == TENSOR_DOT ? call.out_units / (call.in_units / call.terms) : call.out_units;
  }
  static int64_t weight_columns(const KernelCall& call) {
    if (call.kind == SUM) return call.terms * call.in_units;
    return call.kind == TUCKER ? call.in_units * call.in_units : call.terms;
  }
  static int64_t weight_width(const KernelCall& call) { return call.kind == TENSOR_DOT ? call.factors : call.out_width; }

  // The weights of a call, or the logits before their softmax.
  const float* source_of(const KernelCall& call) const { return training->sources[call.source] + call.weight; }

  // A checksum of the logits of a call, which are in the cache then.
  int32_t logits_checksum(const KernelCall& call) const {
    return checksum_of(source_of(call), weight_rows(call) * weight_columns(call));
  }

  // Transposes the weights of a call, after their softmax, and adds them up for its bounds. False if one is negative or
  // NaN.
  bool transpose_weights(const KernelCall& call) {
    if (call.source < 0) return true;
    const int64_t units = weight_rows(call), columns = weight_columns(call), width = weight_width(call);
    float* kept = (float*)circuit.constants + call.normalizers;
    const bool are_logits = call.normalizers >= 0;
    if (are_logits && first == 0) {
      const int32_t checksum = logits_checksum(call);
      memcpy(kept + 2 * width, &checksum, sizeof checksum);
    }
    transpose(source_of(call), columns, units, columns, transposed_weights, width);
    if (are_logits) softmax_of_columns(transposed_weights, columns, width, kept, kept + width);
    if (units < width)
      for (int64_t i = 0; i < columns; i++)
        memset(transposed_weights + i * width + units, 0, (width - units) * sizeof(float));
    weights = transposed_weights;
    norms = norms_of_terms;
    return add_weights(call.kind == SUM || call.kind == MIXING ? call.terms : 1, columns, width);
  }

  // Adds up the transposed weights of each row, for each of the terms, and keeps the largest sum. False if a weight is
  // negative or NaN.
  bool add_weights(int64_t terms, int64_t columns, int64_t width) {
    const int64_t count = columns / terms;
    Integers bad{};
    for (int64_t h = 0; h < terms; h++) {
      Vector most{};
      for (int64_t n = 0; n < width; n += LANES) {
        const float* from = transposed_weights + h * count * width + n;
        Vector sum{};
        for (int64_t start = 0; start < count; start += BLOCK_ROWS) {
          Vector part{};
          for (int64_t i = start; i < count && i < start + BLOCK_ROWS; i++) {
            const Vector some = load(from + i * width);
            bad |= ~(some >= Vector{});
            part += some;
          }
          sum += part;
        }
        most = larger(most, sum);
      }
      norms_of_terms[h] = largest((const float*)&most, LANES) * NORM_MARGIN + SMALLEST;
    }
    return is_zero(bad);
  }

  // Makes the rows of a table that the tile reads. `weight` is the number of the table.
  bool make_rows(const KernelCall& call) {
    const Table& table = training->tables[call.weight];
    const Operand& operand = circuit.operands[call.operands];
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
