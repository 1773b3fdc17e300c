// The functions of the library: evaluation, training, and the limits of the machine.
#include "backward.h"
#include "evaluation.h"
#include "limits.h"
#include "softmax.h"
#include "team.h"

static void take_training_scratch(TrainingTile& tile, Memory& memory) {
  memory.take(tile.made, tile.training->num_rows);  // first: kept from tile to tile, and the last one may have fewer rows
  memory.take(tile.transposed_weights, tile.training->weight_floats);
  memory.take(tile.norms_of_terms, tile.training->max_terms);
  take_bounds(tile, memory);
  take_scratch(tile, memory);
}

static void take_backward(Backward& tile, Memory& memory) {
  const int64_t floats = tile.training->widest * tile.capacity;
  take_training_scratch(tile, memory);
  memory.take(tile.gradients, tile.training->gradient_floats * tile.capacity);
  memory.take(tile.products, 2 * floats);
  memory.take(tile.inner, floats);
  memory.take(tile.block, tile.training->block_floats);
  memory.take(tile.block_gradient, tile.training->block_floats);
  memory.take(tile.top_scales, tile.capacity);
  memory.take(tile.places, tile.training->most_states);
  memory.take(tile.seen, tile.capacity);
}

extern "C" {

// The bytes that training needs for a tile of so many rows: from the forward to the backward pass, and during each.
int64_t kept_bytes(const Circuit* circuit, const Training* training, int64_t capacity) {
  Input none{};
  Tile tile{*circuit, none, 0, 0, capacity};
  tile.training = training;
  Memory memory{};
  take_values(tile, memory);
  return memory.next - (char*)nullptr;
}

int64_t training_workspace(const Circuit* circuit, const Training* training, int64_t capacity) {
  Input none{};
  Backward tile{{{*circuit, none, 0, 0, capacity}}};
  tile.training = training;
  Memory memory{};
  take_backward(tile, memory);
  return memory.next - (char*)nullptr;
}

// Evaluates a tile, rows first .. first+rows-1 of x, and keeps its values. Returns how many rows are not certified, or
// BAD_INPUT, or BAD_WEIGHT. `fresh` is the first tile of a workspace.
int64_t train_forward(const Circuit* circuit, const Training* training, const Input* input, int64_t first, int64_t rows,
                      int64_t fresh, float tolerance, char* kept, char* workspace, float* result, uint8_t* certified) {
  TrainingTile tile{{*circuit, *input, first, rows, rows}};
  tile.training = training;
  Memory values{kept}, scratch{workspace};
  take_values(tile, values);
  take_training_scratch(tile, scratch);
  begin_tile(tile);
  if (fresh) memset(tile.made, 0, training->num_rows);
  if (!read_variables(tile)) return BAD_INPUT;
  for (int64_t i = 0; i < circuit->num_units; i++)
    if (!tile.run(circuit->units[i])) return BAD_WEIGHT;
  return tile.write(tolerance, result, certified);
}

// The gradients of a tile, from those of all outputs times `by`.
void train_backward(const Circuit* circuit, const Training* training, const Input* input, int64_t first, int64_t rows,
                    int64_t fresh, const float* of_outputs, double by, char* kept, char* workspace) {
  Backward tile{{{*circuit, *input, first, rows, rows}}};
  tile.training = training;
  tile.fresh = fresh;
  Memory values{kept}, scratch{workspace};
  take_values(tile, values);
  take_backward(tile, scratch);
  begin_tile(tile);
  memset(tile.places, -1, training->most_states * sizeof(int32_t));
  tile.outputs(of_outputs, by);
  for (int64_t i = circuit->num_units - 1; i >= 0; i--) tile.back(circuit->units[i]);
}
}
