// The native kernels of circuits: a loop over kernel calls, for a tile of rows at a time.
//
// Values of a kernel call are a tile (rows, width) of Real, in linear scale, and for each row
//   scale: the natural logarithm of what the row was divided by, in double;
//   bound: an upper bound on the absolute error that underflow has caused in any element, in units of the row, in
//     addition to the relative error that was absorbed;
//   top: the largest element.
// A row is rescaled by a power of two after a call unless its top is in [2^-KEPT, 2). The rounding of Real arithmetic is
// not part of the bound: it is relative. explorer/runtime/README.md derives the bounds.
//
#pragma once
#include "rescaling.h"

constexpr Real FAR = DROPPED * (1 << 20);  // the largest bound of rows of densities above about 2^-19 of their peak

struct Tile : RescaledRows {
  // Makes logarithms in `count` rows, at most LANES, values with a maximum of 1; `low` was rounded off.
  void from_logarithms(const KernelCall& call, int64_t start, int64_t count, const Real* low) {
    Real* out = values_of(call) + start * call.out_width;
    Real top[LANES], largest[LANES];
    store(largest, all(1.0f));
    with_vectors(call.out_width, [&](auto known) {
      const int64_t width = known.value ? known.value * LANES : call.out_width;
      store(top, largest_of_rows(out, width, count));
      for (int64_t i = 0; i < count; i++)
        for (int64_t n = i * width; n < (i + 1) * width; n += LANES) {
          const Vector below = load(out + n) - top[i];
          store(out + n, exponential(low ? below + load(low + n) : below));
        }
      if (low) store(largest, largest_of_rows(out, width, count));
    });
    for (int64_t i = 0; i < count; i++) {
      const bool is_finite = top[i] - top[i] == 0;
      scales_of(call)[start + i] = top[i];
      bounds_of(call)[start + i] = is_finite ? DROPPED : INFINITY;
      tops_of(call)[start + i] = largest[i];
      if (training && !is_finite) clear(call, start + i, out + i * call.out_width);
    }
  }

  // log of products of normal densities: sum_c constant - (scale (x - mean))^2, where rows are padded with -inf, given to
  // `write`. Many are added in blocks; `low` gets what that rounds off.
  template <int R, class Write>
  void log_densities(const KernelCall& call, int64_t start, Real* low, Write write) {
    const Operand* factors = circuit.operands + call.operands;
    const int64_t width = call.out_width;
    Real* out = values_of(call) + start * width;
    for (int64_t n = 0; n < width; n += LANES)
      for (int64_t block = 0; block < call.factors; block += BLOCK_DENSITIES) {
        const int64_t end = block + BLOCK_DENSITIES < call.factors ? block + BLOCK_DENSITIES : call.factors;
        Vector sums[R];
        for (int64_t c = block; c < end; c++) {
          const Real* mean = circuit.constants + factors[c].rows + n;
          const Vector center = load(mean), factor = load(mean + width), constant = load(mean + 2 * width);
          const Real* x = points + factors[c].variable * capacity + start;
          UNROLL for (int r = 0; r < R; r++) {
            const Vector z = (x[r] - center) * factor;
            sums[r] = c == block ? constant - z * z : sums[r] + (constant - z * z);
          }
        }
        UNROLL for (int r = 0; r < R; r++) {
          Real *to = out + r * width + n, *rest = low + r * width + n;
          if (block) add_exactly(to, rest, sums[r]);
          else store(to, write(sums[r]));
          if (!block && low) store(rest, Vector{});
        }
      }
  }

  // The same for some rows, at most LANES.
  template <class Write>
  void log_densities_of_rows(const KernelCall& call, int64_t start, int64_t count, Real* low, Write write) {
    if (count == LANES) return log_densities<LANES>(call, start, low, write);
    for (int64_t i = 0; i < count; i++)
      log_densities<1>(call, start + i, low ? low + i * call.out_width : nullptr, write);
  }

  // The largest logarithm of an element that any x has.
  Real log_peak(const KernelCall& call) const {
    const Operand* factors = circuit.operands + call.operands;
    const int64_t width = call.out_width;
    Vector found = all(-INFINITY);
    for (int64_t n = 0; n < width; n += LANES) {
      Vector sum{};
      for (int64_t c = 0; c < call.factors; c++) sum += load(circuit.constants + factors[c].rows + 2 * width + n);
      found = larger(found, sum);
    }
    Real elements[LANES], most = -INFINITY;
    store(elements, found);
    for (const Real one : elements) most = one > most ? one : most;
    return most;
  }

  // Rows near the peak of at most BLOCK_DENSITIES densities are made in one go, as multiples of it. From the first row
  // on that is not, logarithms are made first, from which the largest of their row is subtracted.
  void gaussian(const KernelCall& call) {
    Real* low = call.factors > BLOCK_DENSITIES ? scratch : nullptr;
    const Real peak = log_peak(call);
    bool are_near = !low && peak - peak == 0;
    for (int64_t start = begin; start < rows; start += LANES) {
      const int64_t count = rows - start < LANES ? rows - start : LANES;
      if (are_near) {
        log_densities_of_rows(call, start, count, nullptr, [&](Vector logarithms) { return exponential(logarithms - peak); });
        for (int64_t b = start; b < start + count; b++) scales_of(call)[b] = peak, bounds_of(call)[b] = DROPPED;
        rescale(call, {start, count});
        for (int64_t b = start; b < start + count; b++) are_near &= bounds_of(call)[b] <= FAR;
        if (are_near) continue;
      }
      log_densities_of_rows(call, start, count, low, [](Vector logarithms) { return logarithms; });
      from_logarithms(call, start, count, low);
    }
  }

  void density(const KernelCall& call) {
    for (int64_t start = begin; start < rows; start += LANES) {
      const int64_t count = rows - start < LANES ? rows - start : LANES;
      for (int64_t b = start; b < start + count; b++) {
        const Real* from = input.densities + (first + b) * input.density_floats + call.weight;
        Real* out = values_of(call) + b * call.out_width;
        for (int64_t n = 0; n < call.out_width; n++) out[n] = n < call.out_units ? from[n] : -INFINITY;
      }
      from_logarithms(call, start, count, nullptr);
    }
  }

  void product(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    each_span(call.out_width, [&](Span span) {
      multiply_rows(factors, call.factors, span, call.out_width, nullptr, values_of(call) + span.start * call.out_width);
      product_scales(factors, call.factors, span, scales_of(call) + span.start);
      product_bounds(factors, call.factors, span, bounds_of(call) + span.start);
      rescale(call, span);
    });
  }

  // to[b] = exp(of[b] - top[b]) for of <= top; zero below exp(LOWEST).
  static void quotients(const double* of, const double* top, int64_t count, Real* to) {
    for (int64_t first = 0; first < count; first += LANES) {
      const int64_t some = count - first < LANES ? count - first : LANES;
      Real nearest[LANES] = {}, rest[LANES] = {};  // what a Real cannot hold is a relative error of the result
      for (int64_t i = 0; i < some; i++) {
        const double difference = of[first + i] - top[first + i];
        nearest[i] = (Real)difference;
        rest[i] = (Real)(difference - nearest[i]);
      }
      const Vector x = load(nearest), found = exponential(x) * (1.0f + load(rest));
      store(nearest, x < LOWEST ? Vector{} : found);
      memcpy(to + first, nearest, some * sizeof(Real));
    }
  }

  // Calls `add(h, factors, by)` for each term: the scale of a sum is the largest one of its terms, and a term is
  // multiplied by the quotient. The bound of a term: `norms[h]` is at least the sum of its weights for an output unit.
  template <class Add>
  void add_terms(const KernelCall& call, Span span, Add add) {
    const Operand* operands = circuit.operands + call.operands;
    double* top = scales_of(call) + span.start;
    Real* bound = bounds_of(call) + span.start;
    product_scales(operands, call.factors, span, top);
    for (int64_t h = 1; h < call.terms; h++) {
      product_scales(operands + h * call.factors, call.factors, span, term_scales);
      INDEPENDENT for (int64_t b = 0; b < span.count; b++) top[b] = term_scales[b] > top[b] ? term_scales[b] : top[b];
    }
    const Real most = ldexp(1, (int)call.factors), underflow = 4 * (Real)call.in_units * SMALLEST;
    for (int64_t h = 0; h < call.terms; h++) {
      const Operand* factors = operands + h * call.factors;
      product_bounds(factors, call.factors, span, term_bounds);
      if (call.terms > 1) {
        product_scales(factors, call.factors, span, term_scales);
        quotients(term_scales, top, span.count, term_factors);
      }
      const Real norm = norms[h];
      INDEPENDENT for (int64_t b = 0; b < span.count; b++) {
        const Real by = call.terms > 1 ? term_factors[b] : 1.0f;
        const Real error = by == 0 ? (most + term_bounds[b]) * DROPPED : term_bounds[b] * by + most * SMALLEST;
        bound[b] = (h ? bound[b] : 0) + norm * error + underflow;
      }
      add(h, factors, call.terms > 1 ? term_factors : nullptr);
    }
  }

  void sum(const KernelCall& call) {
    const bool many = Accumulator::needs_compensation(call.terms * Accumulator::parts_of(call.in_units));
    each_span(call.in_width, [&](Span span) {
      Real* exact = many ? scratch + span.count * call.in_width : nullptr;
      Accumulator total{values_of(call) + span.start * call.out_width, exact, span.count, call.out_width, ahead};
      add_terms(call, span, [&](int64_t h, const Operand* factors, const Real* by) {
        const bool direct = !by && call.factors == 1 && factors->slot >= 0;
        if (!direct) multiply_rows(factors, call.factors, span, call.in_width, by, scratch);
        total.add(direct ? values(factors->place) + span.start * call.in_width : scratch, call.in_width,
                  weights + h * call.in_units * call.out_width, call.in_units);
      });
      total.finish();
      rescale(call, span);
    });
  }

  void mixing(const KernelCall& call) {
    const int64_t width = call.out_width;
    each_span(width, [&](Span span) {
      const int64_t floats = span.count * width;
      Real* out = values_of(call) + span.start * width;
      Real* low = Accumulator::needs_compensation(call.terms) ? scratch + floats : nullptr;
      if (low) memset(low, 0, floats * sizeof(Real));
      add_terms(call, span, [&](int64_t h, const Operand* factors, const Real* by) {
        const Real* weight = weights + h * width;
        multiply_rows(factors, call.factors, span, width, by, scratch);
        with_vectors(width, [&](auto known) {
          const int64_t size = known.value ? known.value * LANES : width;
          for (int64_t b = 0; b < span.count; b++)
            for (int64_t n = 0; n < size; n += LANES) {
              const int64_t at = b * size + n;
              const Vector term = load(scratch + at) * load(weight + n);
              if (h && low) add_exactly(out + at, low + at, term);
              else store(out + at, h ? load(out + at) + term : term);
            }
        });
      });
      if (low)
        for (int64_t n = 0; n < floats; n += LANES) store(out + n, load(out + n) + load(low + n));
      rescale(call, span);
    });
  }

  // A sum over the Kronecker product of two operands: sum_i x_0[i] sum_j w[i][j] x_1[j].
  void tucker(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    const int64_t units = call.in_units, width = call.in_width;
    const Real norm = norms[0], underflow = 4 * (Real)(units * units) * SMALLEST;
    each_span(width, [&](Span span) {
      Real* low = units > MANY_PRODUCTS ? scratch + 2 * span.count * width : nullptr;
      const Real* left = rows_in_order(factors[0], span, width, scratch);
      const Real* right = rows_in_order(factors[1], span, width, scratch + span.count * width);
      add_products(left, right, width, weights, units, call.out_width, values_of(call) + span.start * call.out_width,
                   low, span.count, ahead);
      Real* bound = bounds_of(call) + span.start;
      product_scales(factors, 2, span, scales_of(call) + span.start);
      product_bounds(factors, 2, span, bound);
      for (int64_t b = 0; b < span.count; b++) bound[b] = norm * (bound[b] + 4 * SMALLEST) + underflow;
      rescale(call, span);
    });
  }

  // The rows of a span one after the other: copied to `room` from a table.
  const Real* rows_in_order(const Operand& one, Span span, int64_t width, Real* room) const {
    if (one.slot >= 0) return values(one.place) + span.start * width;
    multiply_rows(&one, 1, span, width, nullptr, room);
    return room;
  }

  void kronecker(const KernelCall& call) {
    const Operand* factors = circuit.operands + call.operands;
    const Rows lefts = rows_of(factors[0]), rights = rows_of(factors[1]);
    const int64_t right_units = call.out_units / call.in_units, right_width = call.weight;
    for (int64_t b = begin; b < rows; b++) {
      Real* out = values_of(call) + b * call.out_width;
      const Real* left = lefts.values + lefts.at(b) * call.in_width;
      const Real* right = rights.values + rights.at(b) * right_width;
      for (int64_t i = 0; i < call.in_units; i++)
        for (int64_t j = 0; j < right_units; j++) out[i * right_units + j] = left[i] * right[j];
      for (int64_t n = call.out_units; n < call.out_width; n++) out[n] = 0;
    }
    product_scales(factors, 2, all_rows(), scales_of(call) + begin);
    product_bounds(factors, 2, all_rows(), bounds_of(call) + begin);
    rescale(call, all_rows());
  }

  // y[o] = x[i_o]
  void rearrange(const KernelCall& call) {
    const Operand* operand = circuit.operands + call.operands;
    const Rows from = rows_of(*operand);
    const int64_t* read = circuit.units_read + call.weight;
    for (int64_t b = begin; b < rows; b++) {
      Real* out = values_of(call) + b * call.out_width;
      const Real* x = from.values + from.at(b) * call.in_width;
      for (int64_t n = 0; n < call.out_units; n++) out[n] = x[read[n]];
      for (int64_t n = call.out_units; n < call.out_width; n++) out[n] = 0;
    }
    product_scales(operand, 1, all_rows(), scales_of(call) + begin);
    product_bounds(operand, 1, all_rows(), bounds_of(call) + begin);
    rescale(call, all_rows());
  }

  // y[q P + p] = sum_j w[j][p] x[j Q + q]; `terms` is J, `factors` the padded P.
  void tensor_dot(const KernelCall& call) {
    const Operand* operand = circuit.operands + call.operands;
    const Rows from = rows_of(*operand);
    const int64_t J = call.terms, Q = call.in_units / J, P = call.out_units / Q, padded = call.factors;
    Real* transposed = scratch;
    Real* product = scratch + Q * J;
    for (int64_t b = begin; b < rows; b++) {
      const Real* x = from.values + from.at(b) * call.in_width;
      for (int64_t q = 0; q < Q; q++)
        for (int64_t j = 0; j < J; j++) transposed[q * J + j] = x[j * Q + q];
      Accumulator{product, nullptr, Q, padded, ahead}.add(transposed, J, weights, J);
      Real* out = values_of(call) + b * call.out_width;
      for (int64_t q = 0; q < Q; q++) memcpy(out + q * P, product + q * padded, P * sizeof(Real));
      for (int64_t n = call.out_units; n < call.out_width; n++) out[n] = 0;
    }
    const Real norm = norms[0], underflow = 4 * (Real)J * SMALLEST;
    product_scales(operand, 1, all_rows(), scales_of(call) + begin);
    product_bounds(operand, 1, all_rows(), bounds_of(call) + begin);
    for (int64_t b = begin; b < rows; b++) bounds_of(call)[b] = norm * (bounds_of(call)[b] + 4 * SMALLEST) + underflow;
    rescale(call, all_rows());
  }

  // Computes a call from `weights`.
  void compute(const KernelCall& call) {
    switch (call.kind) {
      case GAUSSIAN: return gaussian(call);
      case DENSITY: return density(call);
      case PRODUCT: return product(call);
      case SUM: return sum(call);
      case MIXING: return mixing(call);
      case TUCKER: return tucker(call);
      case KRONECKER: return kronecker(call);
      case TENSOR_DOT: return tensor_dot(call);
      case REARRANGE: return rearrange(call);
    }
  }

  // Computes calls start .. stop-1; what the next one reads is fetched meanwhile.
  void run(int64_t start, int64_t stop) {
    const KernelCall *call = circuit.calls + start, *end = circuit.calls + stop;
    if (call < end) list_ahead(*call);
    for (; call < end; call++) {
      ahead.finish();
      if (call + 1 < end) list_ahead(call[1]);
      weights = circuit.constants + call->weight;
      norms = circuit.constants + call->norms;
      compute(*call);
      absorb(*call);
    }
  }

  // Lists the constants that a call reads.
  void list_ahead(const KernelCall& call) {
    const Operand* operands = circuit.operands + call.operands;
    const int64_t count = call.terms * call.factors, in = call.in_units, out = call.out_width;
    const bool is_sum = call.kind == SUM || call.kind == TUCKER;
    const int64_t num_weights = call.kind == SUM      ? call.terms * in * out
                                : call.kind == TUCKER ? in * in * out
                                : call.kind == MIXING ? call.terms * out
                                                      : 0;
    ahead.begin();
    if (call.kind == GAUSSIAN)
      for (int64_t i = 0; i < count; i++) ahead.add(circuit.constants + operands[i].rows, 3 * out * sizeof(Real));
    if (is_sum || call.kind == MIXING || call.kind == PRODUCT)
      for (int64_t i = 0; i < count; i++) list_table(operands[i], is_sum ? call.in_width : out);
    if (num_weights) ahead.add(circuit.constants + call.weight, num_weights * sizeof(Real));
    ahead.end();
  }

  // Lists what rows read of a table: all of it, in order, if they need most of it.
  void list_table(const Operand& one, int64_t width) {
    if (one.slot >= 0 || one.variable < 0) return;
    const int64_t num_states = circuit.num_values[one.variable];
    const Real* from = circuit.constants + one.rows;
    if (num_states <= 2 * (rows - begin)) ahead.add(from, num_states * width * sizeof(Real));
    else ahead.add_rows(from, width * sizeof(Real), states_of(one) + begin, rows - begin);
    ahead.add(circuit.scales + one.scales, num_states * sizeof(double));
    ahead.add(circuit.constants + one.bounds, num_states * sizeof(Real));
  }

  // Writes the logarithms of the outputs, and which rows are certified; returns how many are not.
  int64_t write(Real tolerance, float* to, uint8_t* certified) const {
    int64_t failed = 0;
    const int64_t width = (circuit.output_units + LANES - 1) / LANES * LANES;
    for (int64_t b = begin; b < rows; b++) {
      bool sure = true;
      const Real left = tolerance - (Real)(absorbed[b] * ABSORBED_UNIT);
      for (int64_t i = 0; i < circuit.num_outputs; i++) {
        const Rows one = rows_of(circuit.operands[circuit.outputs[i]]);
        const Real* from = one.values + one.at(b) * width;
        const double scale_of = one.scales[one.at(b)];
        const Real bound_of = one.bounds[one.at(b)];
        float* result = to + ((first + b) * circuit.num_outputs + i) * circuit.output_units;
        for (int64_t n = 0; n < circuit.output_units; n++) {
          result[n] = (float)(log((double)from[n]) + scale_of);
          const bool is_zero = bound_of == 0 && from[n] == 0;  // exactly
          sure &= is_zero || (bound_of < left * from[n] && result[n] - result[n] == 0);
        }
      }
      certified[first + b] = sure;
      failed += !sure;
    }
    return failed;
  }
};
