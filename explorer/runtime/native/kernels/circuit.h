// What the kernels are given: a circuit as arrays, and its input.
#pragma once
#include "real.h"

enum Kind : int32_t { GAUSSIAN, PRODUCT, SUM, MIXING, TUCKER, KRONECKER, TENSOR_DOT, DENSITY, TABLE, REARRANGE };
// What a table has; NORMALIZED are logarithms after a log-softmax over the states, which must be next to each other.
enum Content : int64_t { LINEAR, LOGARITHMS, NORMALIZED };
enum Status : int64_t { BAD_INPUT = -1, BAD_WEIGHT = -2 };

typedef uint16_t State;  // of a variable that has a table: MAX_TABLE_STATES in units/lowering.py

// An input of a unit: the values of another one in a slot, or the rows of a table by the value of a variable.
struct Operand {
  int64_t slot;      // of its scales and bounds; -1: a table
  int64_t place;     // of its values: the floats of one row before it
  int64_t variable;  // position among the discrete variables; -1: a table with one row
  int64_t rows;      // offset of the table's rows
  int64_t scales;    // offset of their scales
  int64_t bounds;    // offset of their bounds
  int64_t gradient;  // in training, the place of its gradient
  int64_t adds;      // 1: the gradient is added to what is there
  int64_t by_row;    // in training, 1: the table has a row for each of the batch, not for each state
};

// `terms` times `factors` operands; widths are padded ones, but for `in_units` and `out_units`. In training, `source` is
// the number of the tensor that has its weights, from `weight` on. If these are a softmax, the tensor has their logits,
// and from `normalizers` on the constants have the largest logit of each row, the factor of the exponentials of each row,
// and a checksum of all logits; else it is -1.
struct Unit {
  int64_t kind, slot, place, in_units, in_width, out_units, out_width, terms, factors, operands, weight, norms;
  int64_t source, normalizers, gradient;
};

struct Circuit {
  const Unit* units;
  int64_t num_units;
  const Operand* operands;
  const Real* constants;
  const double* scales;
  int64_t value_floats;  // of one row, in all slots
  int64_t num_slots;
  int64_t scratch_floats;  // of one row
  int64_t scratch_fixed;   // or so many for a unit that needs them whatever the number of rows
  const int64_t* outputs;  // (num_outputs) operands
  int64_t num_outputs;
  int64_t output_units;
  const int64_t* discrete;     // columns of x of the discrete variables
  const int64_t* num_values;   // and how many values they have
  int64_t num_discrete;
  const int64_t* continuous;   // columns of x of the continuous variables
  int64_t num_continuous;
  int64_t ahead_lines;  // lines of constants that a unit reads at most
  int64_t absorbs;      // 1: a value depends on each unit by one factor of a product only, so its errors count once
  const int64_t* units_read;  // positions in a row that units read which rearrange, each from its `weight` on
};

// A table (units, states) in a tensor, of which training makes rows.
struct Table {
  int64_t source, offset, unit_stride, state_stride, units, width, states;
  int64_t content;
  int64_t rows, scales, bounds;  // where they go, as in Operand
  int64_t normalizers;           // of what is to be normalized, three rows: log sum exp of each unit in two, and checksums
};

// What training reads and writes besides.
struct Training {
  const float* const* sources;  // weights and tables, by number
  float* const* gradients;      // of these
  float* constants_gradient;    // of the densities in `constants`
  float* densities_gradient;    // of the densities in `Input`
  const Table* tables;
  int64_t num_rows;         // of all tables
  int64_t most_states;      // of one table
  int64_t gradient_floats;  // of one row, in all places
  int64_t weight_floats;    // of the largest unit
  int64_t block_floats;     // of a term of the largest unit
  int64_t max_terms;
  int64_t widest;           // row
};

struct Input {
  const void* x;  // (rows, columns)
  int64_t type;   // 0: int64, 1: float, 2: double
  int64_t columns;
  const Real* densities;  // (rows, density_floats): logarithms that were computed elsewhere
  int64_t density_floats;
};
