// The backward pass of a tile: from the gradients of the outputs to the gradients of weights, tables and densities.
//
// Scales are constants: the gradient of a call is that of its scaled values, so the pass has neither exp nor log. Of a
// certified row no gradient overflows: the bound at the root is at least the gradient times SMALLEST.
// The gradient of a row with a value of exactly zero is zero, as of the logarithm in PyTorch's layers.
#pragma once
#include "training.h"

constexpr int TUCKER_WIDTH = TUCKER_VECTORS * LANES;  // products of two units that are formed at a time

struct Backward : TrainingTile {
  bool fresh;          // the first tile writes gradients of weights, others add to them
  bool last;           // the last tile passes them through a softmax
  bool changed;        // logits have changed since the forward pass
  const float* matrix; // weights (rows, columns) of the present call
  float* gradients;    // of values, at their places
  float* products;     // (rows, widest): the terms of a sum; twice as many rows for a table
  float* inner;        // (rows, widest): their gradients
  float* block;        // weights of a term, padded
  float* block_gradient;
  double* top_scales;  // of a sum
  int32_t* places;     // of the states of a table among those that were seen; -1: not seen
  int32_t* seen;       // the first row of each of these

  float* gradient(int64_t place) const { return gradients + place * capacity; }
  float* weights_gradient(const KernelCall& call) const { return training->gradients[call.source] + call.weight; }

  // ------------------------------------------------------------------------------------------------- the outputs

  // `to` (rows, outputs, units) has the gradients of the logarithms.
  void outputs(const float* to, double by) {
    const int64_t width = (circuit.output_units + LANES - 1) / LANES * LANES;
    for (int64_t i = 0; i < circuit.num_outputs; i++) {
      const Operand& operand = circuit.operands[circuit.outputs[i]];
      const Rows one = rows_of(operand);
      float* into = gradient(operand.gradient);
      if (!operand.adds) memset(into, 0, rows * width * sizeof(float));
      for (int64_t b = 0; b < rows; b++) {
        const float* value = one.values + one.at(b) * width;
        const float* from = to + ((first + b) * circuit.num_outputs + i) * circuit.output_units;
        for (int64_t n = 0; n < circuit.output_units; n++)
          if (from[n] != 0) into[b * width + n] += (float)(from[n] * by / value[n]);
      }
    }
  }

  // -------------------------------------------------------------------------------------------------- operands

  // Adds to the gradient of each factor of a product: `outer` times the other factors, and `by` a number for each row.
  void factors_gradient(const Operand* factors, int64_t count, int64_t width, const float* outer, const float* by) {
    for (int64_t c = 0; c < count; c++) {
      float* to = gradient(factors[c].gradient);
      const bool adds = factors[c].adds;
      Rows others[MAX_FACTORS];
      int64_t num_others = 0;
      for (int64_t d = 0; d < count; d++)
        if (d != c) others[num_others++] = rows_of(factors[d]);
      for (int64_t b = 0; b < rows; b++) {
        const float* from = outer + b * width;
        float* into = to + b * width;
        const float* rest[MAX_FACTORS];
        for (int64_t d = 0; d < num_others; d++) rest[d] = others[d].values + others[d].at(b) * width;
        for (int64_t n = 0; n < width; n += LANES) {
          Vector found = load(from + n);
          for (int64_t d = 0; d < num_others; d++) found *= load(rest[d] + n);
          if (by) found *= by[b];
          store(into + n, adds ? load(into + n) + found : found);
        }
      }
    }
  }

  // The gradient before rescaling.
  void before_rescaling(const KernelCall& call) {
    const float* value = values_of(call);
    const float* multiplier = multipliers + call.slot * capacity;
    float* of = gradient(call.gradient);
    for (int64_t b = 0; b < rows; b++)
      for (int64_t n = b * call.out_width; n < (b + 1) * call.out_width; n += LANES)
        store(of + n, load(value + n) == Vector{} ? Vector{} : load(of + n) * multiplier[b]);
  }

  // Calls `back(h, factors, by)` for each term, with its factors of scale as in the forward pass.
  template <class Back>
  void each_term(const KernelCall& call, Back back) {
    const Operand* operands = circuit.operands + call.operands;
    if (call.terms == 1) return back(0, operands, nullptr);
    double* top = top_scales;
    product_scales(operands, call.factors, all_rows(), top);
    for (int64_t h = 1; h < call.terms; h++) {
      product_scales(operands + h * call.factors, call.factors, all_rows(), term_scales);
      for (int64_t b = 0; b < rows; b++) top[b] = term_scales[b] > top[b] ? term_scales[b] : top[b];
    }
    for (int64_t h = 0; h < call.terms; h++) {
      const Operand* factors = operands + h * call.factors;
      product_scales(factors, call.factors, all_rows(), term_scales);
      quotients(term_scales, top, rows, term_factors);
      back(h, factors, term_factors);
    }
  }

  // Writes, in the first tile, or adds `count` rows of `units` floats of `from` to the gradient `to` of weights.
  void accumulate(const float* from, int64_t width, float* to, int64_t ld, int64_t count, int64_t units) const {
    for (int64_t r = 0; r < count; r++)
      for (int64_t n = 0; n < units; n++) to[r * ld + n] = (fresh ? 0 : to[r * ld + n]) + from[r * width + n];
  }

  // dW (count, units) (+)= G (rows, count)^T P (rows, units)
  void outer_products(const float* G, int64_t ldg, const float* P, int64_t width, float* to, int64_t ld, int64_t count,
                      int64_t units) {
    if (units == width) return multiply<true>(G, ldg, P, width, rows, width, to, ld, count, !fresh);
    multiply<true>(G, ldg, P, width, rows, width, block_gradient, width, count, false);
    accumulate(block_gradient, width, to, ld, count, units);
  }

  // Weights (count, units) with rows of whole vectors, copied if they are not; `ld` becomes the distance of rows.
  const float* padded(const float* from, int64_t& ld, int64_t count, int64_t units, int64_t width) {
    if (units == width) return from;
    for (int64_t r = 0; r < count; r++) {
      memcpy(block + r * width, from + r * ld, units * sizeof(float));
      memset(block + r * width + units, 0, (width - units) * sizeof(float));
    }
    ld = width;
    return block;
  }

  // ----------------------------------------------------------------------------------------------------- calls

  void product_back(const KernelCall& call) {
    factors_gradient(circuit.operands + call.operands, call.factors, call.out_width, gradient(call.gradient), nullptr);
  }

  void sum_back(const KernelCall& call) {
    const float* G = gradient(call.gradient);
    const int64_t units = call.in_units, width = call.in_width, columns = call.terms * units;
    each_term(call, [&](int64_t h, const Operand* factors, const float* by) {
      const bool direct = !by && call.factors == 1 && factors->slot >= 0;
      if (!direct) multiply_rows(factors, call.factors, all_rows(), width, by, products);
      outer_products(G, call.out_width, direct ? values(factors->place) : products, width,
                     weights_gradient(call) + h * units, columns, call.out_units, units);
      int64_t ld = columns;
      const float* weight = padded(matrix + h * units, ld, call.out_units, units, width);
      const bool alone = !by && call.factors == 1;
      multiply<false>(G, call.out_width, weight, ld, call.out_units, width, alone ? gradient(factors->gradient) : inner,
                      width, rows, alone && factors->adds);
      if (!alone) factors_gradient(factors, call.factors, width, inner, by);
    });
  }

  void mixing_back(const KernelCall& call) {
    const float* G = gradient(call.gradient);
    const int64_t width = call.out_width;
    each_term(call, [&](int64_t h, const Operand* factors, const float* by) {
      multiply_rows(factors, call.factors, all_rows(), width, by, products);
      for (int64_t k = 0; k < call.out_units; k++) block[k] = matrix[k * call.terms + h];
      for (int64_t k = call.out_units; k < width; k++) block[k] = 0;
      memset(block_gradient, 0, width * sizeof(float));
      for (int64_t b = 0; b < rows; b++)
        for (int64_t n = 0; n < width; n += LANES) {
          const Vector of = load(G + b * width + n);
          store(block_gradient + n, load(block_gradient + n) + of * load(products + b * width + n));
          store(inner + b * width + n, of * load(block + n));
        }
      accumulate(block_gradient, 1, weights_gradient(call) + h, call.terms, call.out_units, 1);
      factors_gradient(factors, call.factors, width, inner, by);
    });
  }

  // For some i at a time, dW[o][i][j] = sum_b G[b][o] (x_0[b][i] x_1[b][j]), and with
  // H[b][i][j] = sum_o G[b][o] W[o][i][j] the gradients of x_0[b][i] = H[b][i] x_1[b] and of x_1[b] += x_0[b][i] H[b][i].
  void tucker_back(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t units = call.in_units, width = call.in_width, out_width = call.out_width, columns = units * units;
    const bool are_several = units == width && (width == TUCKER_WIDTH / 2 || width == TUCKER_WIDTH / 4);
    const int64_t count = are_several ? TUCKER_WIDTH / width : 1, size = count * width;
    const float* G = gradient(call.gradient);
    float* left_gradient = gradient(factors[0].gradient);
    float* right_gradient = gradient(factors[1].gradient);
    if (!factors[0].adds) memset(left_gradient, 0, rows * width * sizeof(float));
    if (!factors[1].adds) memset(right_gradient, 0, rows * width * sizeof(float));
    for (int64_t i = 0; i < units; i += count) {
      for (int64_t b = 0; b < rows; b++) {
        const float *left = lefts.values + lefts.at(b) * width + i, *right = rights.values + rights.at(b) * width;
        for (int64_t a = 0; a < count; a++)
          for (int64_t n = 0; n < width; n += LANES)
            store(products + b * size + a * width + n, load(right + n) * left[a]);
      }
      outer_products(G, out_width, products, size, weights_gradient(call) + i * units, columns, call.out_units,
                     count * units);
      int64_t ld = columns;
      const float* weight = padded(matrix + i * units, ld, call.out_units, count * units, size);
      multiply<false>(G, out_width, weight, ld, call.out_units, size, inner, size, rows, false);
      for (int64_t b = 0; b < rows; b++) {
        const float *left = lefts.values + lefts.at(b) * width + i, *right = rights.values + rights.at(b) * width;
        const float* H = inner + b * size;
        float *of_left = left_gradient + b * width + i, *of_right = right_gradient + b * width;
        if (count == 4) operands_gradient<4>(H, left, right, width, of_left, of_right);
        else if (count == 2) operands_gradient<2>(H, left, right, width, of_left, of_right);
        else operands_gradient<1>(H, left, right, width, of_left, of_right);
      }
    }
  }

  // For A products of two operands, with their gradients H (A, width).
  template <int A>
  static void operands_gradient(const float* H, const float* left, const float* right, int64_t width, float* of_left,
                                float* of_right) {
    Vector sums[A] = {};
    for (int64_t n = 0; n < width; n += LANES) {
      const Vector x = load(right + n);
      Vector total = load(of_right + n);
      UNROLL for (int a = 0; a < A; a++) {
        const Vector one = load(H + a * width + n);
        sums[a] += one * x;
        total += one * left[a];
      }
      store(of_right + n, total);
    }
    UNROLL for (int a = 0; a < A; a++) of_left[a] += sum_of(sums[a]);
  }

  void kronecker_back(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t left_units = call.in_units, left_width = call.in_width;
    const int64_t right_units = call.out_units / left_units, right_width = call.weight;
    float* left_gradient = gradient(factors[0].gradient);
    float* right_gradient = gradient(factors[1].gradient);
    if (!factors[0].adds) memset(left_gradient, 0, rows * left_width * sizeof(float));
    if (!factors[1].adds) memset(right_gradient, 0, rows * right_width * sizeof(float));
    for (int64_t b = 0; b < rows; b++) {
      const float* G = gradient(call.gradient) + b * call.out_width;
      const float* left = lefts.values + lefts.at(b) * left_width;
      const float* right = rights.values + rights.at(b) * right_width;
      for (int64_t i = 0; i < left_units; i++) {
        float sum = 0;
        for (int64_t j = 0; j < right_units; j++) {
          sum += G[i * right_units + j] * right[j];
          right_gradient[b * right_width + j] += G[i * right_units + j] * left[i];
        }
        left_gradient[b * left_width + i] += sum;
      }
    }
  }

  void rearrange_back(const KernelCall& call) {
    const Operand* operand = circuit.operands + call.operands;
    const int64_t* read = circuit.units_read + call.weight;
    float* to = gradient(operand->gradient);
    if (!operand->adds) memset(to, 0, rows * call.in_width * sizeof(float));
    for (int64_t b = 0; b < rows; b++) {
      const float* G = gradient(call.gradient) + b * call.out_width;
      for (int64_t n = 0; n < call.out_units; n++) to[b * call.in_width + read[n]] += G[n];
    }
  }

  // y[q P + p] = sum_j w[p][j] x[j Q + q]
  void tensor_dot_back(const KernelCall& call) {
    const Operand* operand = circuit.operands + call.operands;
    const Rows from = rows_of(*operand);
    const int64_t J = call.terms, Q = call.in_units / J, P = call.out_units / Q;
    const float* weight = matrix;
    float* to = gradient(operand->gradient);
    if (!operand->adds) memset(to, 0, rows * call.in_width * sizeof(float));
    memset(block_gradient, 0, P * J * sizeof(float));
    for (int64_t b = 0; b < rows; b++) {
      const float* G = gradient(call.gradient) + b * call.out_width;
      const float* x = from.values + from.at(b) * call.in_width;
      float* into = to + b * call.in_width;
      for (int64_t p = 0; p < P; p++)
        for (int64_t j = 0; j < J; j++) {
          float sum = 0;
          for (int64_t q = 0; q < Q; q++) {
            sum += G[q * P + p] * x[j * Q + q];
            into[j * Q + q] += G[q * P + p] * weight[p * J + j];
          }
          block_gradient[p * J + j] += sum;
        }
    }
    accumulate(block_gradient, J, weights_gradient(call), J, P, J);
  }

  // Of mean, of the factor 1 / (sqrt(2) stddev), and of the constant of each density.
  void gaussian_back(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    const int64_t width = call.out_width;
    const float* G = gradient(call.gradient);
    for (int64_t c = 0; c < call.factors; c++) {
      const float* mean = circuit.constants + factors[c].rows;
      float* to = training->constants_gradient + factors[c].rows;
      const float* x = points + factors[c].variable * capacity;
      for (int64_t n = 0; n < width; n += LANES) {
        const Vector center = load(mean + n), factor = load(mean + width + n);
        Vector of_mean{}, of_factor{}, of_constant{};
        for (int64_t b = 0; b < rows; b++) {
          const Vector distance = all(x[b]) - center, flow = load(G + b * width + n);
          // x may be infinite, and the square of the distance overflow where the deviation is large, too
          const Vector moved = flow == Vector{} ? Vector{} : flow * (distance * factor);
          of_mean += moved;
          of_factor += flow == Vector{} ? Vector{} : moved * distance;
          of_constant += flow;
        }
        of_mean *= factor * 2.0f;
        of_factor *= -2.0f;
        store(to + n, load(to + n) + of_mean);  // several calls may have the same density
        store(to + width + n, load(to + width + n) + of_factor);
        store(to + 2 * width + n, load(to + 2 * width + n) + of_constant);
      }
    }
  }

  void density_back(const KernelCall& call) {
    const float* G = gradient(call.gradient);
    for (int64_t b = 0; b < rows; b++)
      memcpy(training->densities_gradient + (first + b) * input.density_floats + call.weight, G + b * call.out_width,
             call.out_units * sizeof(float));
  }

  // The gradient of a row of a table from the gradient of the values, times `by` where it is linear.
  static Vector element_gradient(const Table& table, Vector of_value, Vector value, float by) {
    return table.content != LINEAR ? of_value * value : value == Vector{} ? Vector{} : of_value * by;
  }

  static float table_factor(const Table& table, double scale) { return table.content != LINEAR ? 1 : (float)exp(-scale); }

  // `operands` is that of the table itself, `weight` its number. The rows of each state are added up first.
  void table_back(const KernelCall& call) {
    const Table& table = training->tables[call.weight];
    const Operand& operand = circuit.operands[call.operands];
    if (fresh && !operand.by_row && table.state_stride == 1 && table.states <= 2 * rows)
      return whole_table_back(call, table);
    const Rows from = rows_of(operand);
    const State* state = states_of(operand);
    const int64_t width = table.width;
    int32_t count = 0;
    for (int64_t b = 0; b < rows; b++) {
      const float* G = gradient(call.gradient) + b * width;
      int32_t& place = places[state[b]];
      const bool is_new = place < 0;
      if (is_new) seen[place = count++] = b;
      float* sum = products + place * width;
      for (int64_t n = 0; n < width; n += LANES) store(sum + n, is_new ? load(G + n) : load(sum + n) + load(G + n));
    }
    float* to = training->gradients[table.source] + table.offset;
    float* totals = block;
    memset(totals, 0, width * sizeof(float));
    for (int32_t i = 0; i < count; i++) {
      const int64_t at = from.at(seen[i]);
      places[state[seen[i]]] = -1;
      float* sum = products + i * width;
      const float* value = from.values + at * width;
      const float by = table_factor(table, from.scales[at]);
      for (int64_t n = 0; n < width; n += LANES) {
        const Vector of = element_gradient(table, load(sum + n), load(value + n), by);
        store(sum + n, of);
        store(totals + n, load(totals + n) + of);
      }
    }
    if (table.content == NORMALIZED) subtract_probabilities(table, totals, to, fresh);
    else if (fresh) memset(to, 0, table.units * table.states * sizeof(float));
    for (int32_t i = 0; i < count; i++) {
      float* into = to + state[seen[i]] * table.state_stride;
      for (int64_t k = 0; k < table.units; k++) into[k * table.unit_stride] += products[i * width + k];
    }
  }

  // Through a log-softmax over the states: the gradient of x[k][v] is that of its logarithm, less p[k][v] times the sum
  // of those of all states. `first` writes it over what is there.
  void subtract_probabilities(const Table& table, const float* totals, float* to, bool first) {
    for (int64_t k = 0; k < table.units; k++) {
      const float* from = training->sources[table.source] + table.offset + k * table.unit_stride;
      const int32_t checksum = checksum_of(from, table.states);
      changed |= memcmp(circuit.constants + table.normalizers + 2 * table.width + k, &checksum, sizeof checksum) != 0;
      const float* normalizer = circuit.constants + table.normalizers + k;
      const float high = normalizer[0], low = normalizer[table.width], total = totals[k];
      float* into = to + k * table.unit_stride;
      int64_t v = 0;
      for (; v + LANES <= table.states; v += LANES) {
        const Vector taken = exponential((load(from + v) - high) - low) * total;
        store(into + v, (first ? Vector{} : load(into + v)) - taken);
      }
      for (; v < table.states; v++)
        into[v] = (first ? 0 : into[v]) - exponential_of((double)from[v] - high - low) * total;
    }
  }

  // The gradients of all states, which are next to each other, are written at once; `products` has room for them.
  void whole_table_back(const KernelCall& call, const Table& table) {
    const Rows from = rows_of(circuit.operands[call.operands]);
    const int64_t width = table.width;
    float* totals = block;
    memset(totals, 0, width * sizeof(float));
    memset(products, 0, table.states * width * sizeof(float));
    for (int64_t b = 0; b < rows; b++) {
      const float* G = gradient(call.gradient) + b * width;
      const float* value = from.values + from.at(b) * width;
      const float by = table_factor(table, from.scales[from.at(b)]);
      float* sum = products + from.at(b) * width;
      for (int64_t n = 0; n < width; n += LANES) {
        const Vector of = element_gradient(table, load(G + n), load(value + n), by);
        store(sum + n, load(sum + n) + of);
        store(totals + n, load(totals + n) + of);
      }
    }
    float* to = training->gradients[table.source] + table.offset;
    transpose(products, width, table.states, table.units, to, table.states);
    if (table.content == NORMALIZED) subtract_probabilities(table, totals, to, false);
  }

  // Points `matrix` to the weights of a call; those after a softmax are made where other weights would be transposed.
  void read_weights(const KernelCall& call) {
    matrix = source_of(call);
    if (call.normalizers < 0) return;
    const int64_t width = weight_width(call);
    const float* kept = circuit.constants + call.normalizers;
    if (fresh) {
      const int32_t checksum = logits_checksum(call);
      changed |= memcmp(kept + 2 * width, &checksum, sizeof checksum) != 0;
    }
    softmax_of_rows(matrix, weight_rows(call), weight_columns(call), kept, kept + width, transposed_weights);
    matrix = transposed_weights;
  }

  void weighted_back(const KernelCall& call) {
    switch (call.kind) {
      case SUM: return sum_back(call);
      case MIXING: return mixing_back(call);
      case TUCKER: return tucker_back(call);
      case TENSOR_DOT: return tensor_dot_back(call);
    }
  }

  void back(const KernelCall& call) {
    switch (call.kind) {
      case TABLE: return table_back(call);
      case GAUSSIAN:
      case DENSITY: {  // gradients of logarithms
        float* of = gradient(call.gradient);
        const float* value = values_of(call);
        for (int64_t n = 0; n < rows * call.out_width; n += LANES) store(of + n, load(of + n) * load(value + n));
        return call.kind == GAUSSIAN ? gaussian_back(call) : density_back(call);
      }
    }
    before_rescaling(call);
    if (call.kind == PRODUCT) return product_back(call);
    if (call.kind == KRONECKER) return kronecker_back(call);
    if (call.kind == REARRANGE) return rearrange_back(call);
    read_weights(call);
    weighted_back(call);
    if (last && call.normalizers >= 0)
      softmax_back(matrix, weight_rows(call), weight_columns(call), weights_gradient(call));
  }
};
