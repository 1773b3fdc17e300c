// A step of training: the forward pass of a tile, and the backward pass of all tiles, which add to the same gradients.
#pragma once
#include "backward.h"
#include "evaluation.h"

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

// Evaluates a tile and keeps its values. `fresh` is the first tile of a workspace.
static void go_forward(ForwardCall& call, const KeptTile& kept, char* workspace, bool fresh) {
  TrainingTile tile{{*call.circuit, *call.input, kept.first, kept.rows, kept.rows}};
  tile.training = call.training;
  Memory values{kept.values}, scratch{workspace};
  take_values(tile, values);
  take_training_scratch(tile, scratch);
  begin_tile(tile);
  if (fresh) memset(tile.made, 0, call.training->num_rows);
  tile.begin_absorbing();
  if (!read_variables(tile)) return __atomic_store_n(&call.has_bad_input, 1, __ATOMIC_RELEASE);
  for (int64_t i = 0; i < call.circuit->num_calls; i++)
    if (!tile.run(call.circuit->calls[i])) return __atomic_store_n(&call.has_bad_weight, 1, __ATOMIC_RELEASE);
  tile.write(call.tolerance, call.result, call.certified);
}

static void go_back(BackwardCall& call, int64_t number, int64_t thread) {
  const KeptTile& kept = call.tiles[number];
  const int64_t line = LINE_BYTES / sizeof(int64_t), count = call.circuit->num_calls;
  int64_t *done = call.done + number * line, *before = done - line;
  Backward tile{{{*call.circuit, *call.input, kept.first, kept.rows, kept.rows}}};
  tile.training = call.training;
  tile.fresh = number == 0;
  tile.last = number == call.num_tiles - 1;
  tile.changed = false;
  Memory values{kept.values}, scratch{call.workspaces[thread]};
  take_values(tile, values);
  take_backward(tile, scratch);
  begin_tile(tile);
  memset(tile.places, -1, call.training->most_states * sizeof(int32_t));
  tile.outputs(call.of_outputs, call.by);
  for (int64_t i = count - 1; i >= 0; i--) {
    if (!tile.fresh) wait_for(before, call.turns[i]);
    tile.back(call.circuit->calls[i]);
    __atomic_store_n(done, count - i, __ATOMIC_RELEASE);
  }
  if (tile.changed) __atomic_store_n(&call.changed, 1, __ATOMIC_RELEASE);
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

// What each thread does: it takes shares until none is left.
void take_forward_shares(ForwardCall* call) {
  int64_t number;
  while ((number = take_next(&call->next_share)) < call->num_shares) {
    const int64_t start = number * call->share_tiles, stop = start + call->share_tiles;
    for (int64_t i = start; i < stop && i < call->num_tiles; i++)
      go_forward(*call, call->tiles[i], call->workspaces[number], i == start);
  }
}

// What each thread does: it takes tiles until none is left.
void take_tiles(BackwardCall* call) {
  const int64_t thread = take_next(&call->next_thread);
  if (thread >= call->num_threads) return;
  int64_t number;
  while ((number = take_next(&call->next_tile)) < call->num_tiles) go_back(*call, number, thread);
}
}
