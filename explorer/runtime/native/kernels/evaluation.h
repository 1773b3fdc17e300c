// The functions that evaluate a circuit, and the memory of a tile.
#pragma once
#include "forward.h"

static int64_t align(int64_t bytes) { return (bytes + 63) / 64 * 64; }

// Gives out memory piece by piece; from null on it only counts.
struct Memory {
  char* next;
  template <class T>
  void take(T*& piece, int64_t count) {
    piece = (T*)next;
    next += align(count * sizeof(T));
  }
};

// What the backward pass reads.
static void take_values(Tile& tile, Memory& memory) {
  const Circuit& circuit = tile.circuit;
  memory.take(tile.slots, circuit.value_floats * tile.capacity);
  memory.take(tile.scales, circuit.num_slots * tile.capacity);
  memory.take(tile.multipliers, tile.training ? circuit.num_slots * tile.capacity : 0);
  memory.take(tile.states, circuit.num_discrete * tile.capacity);
  memory.take(tile.points, circuit.num_continuous * tile.capacity);
}

static void take_scratch(Tile& tile, Memory& memory) {
  const Circuit& circuit = tile.circuit;
  const int64_t floats = tile.capacity * circuit.scratch_floats;
  memory.take(tile.bounds, circuit.num_slots * tile.capacity);
  memory.take(tile.tops, circuit.num_slots * tile.capacity);
  memory.take(tile.scratch, floats > circuit.scratch_fixed ? floats : circuit.scratch_fixed);
  memory.take(tile.term_scales, tile.capacity);
  memory.take(tile.term_bounds, tile.capacity);
  memory.take(tile.term_tops, tile.capacity);
  memory.take(tile.term_factors, tile.capacity);
  memory.take(tile.order, tile.capacity);
  memory.take(tile.zeros, tile.capacity);
  memory.take(tile.numbers, tile.capacity);
  tile.ahead.limit = circuit.ahead_lines < AHEAD_LINES ? circuit.ahead_lines : AHEAD_LINES;
  memory.take(tile.ahead.lines, tile.ahead.size());
}

static void number_rows(Tile& tile) {
  tile.ahead.begin();
  tile.ahead.end();
  for (int64_t b = 0; b < tile.capacity; b++) tile.order[b] = b, tile.zeros[b] = 0, tile.numbers[b] = tile.first + b;
}

static bool read_variables(Tile& tile) {
  return tile.input.type == 0   ? tile.read_variables<int64_t>()
         : tile.input.type == 1 ? tile.read_variables<float>()
                                : tile.read_variables<double>();
}

extern "C" {

int64_t lanes() { return LANES; }

// The bytes of memory that `evaluate` needs for tiles of so many rows.
int64_t workspace(const Circuit* circuit, int64_t capacity) {
  Input none{};
  Tile tile{*circuit, none, 0, 0, capacity};
  Memory memory{};
  take_values(tile, memory);
  take_scratch(tile, memory);
  return memory.next - (char*)nullptr;
}

// Evaluates rows start .. stop-1 of x. Returns how many of them are not certified, or BAD_INPUT.
int64_t evaluate(const Circuit* circuit, const Input* input, int64_t start, int64_t stop, int64_t capacity,
                 float tolerance, char* workspace, float* result, uint8_t* certified) {
  Tile tile{*circuit, *input, start, 0, capacity};
  Memory memory{workspace};
  take_values(tile, memory);
  take_scratch(tile, memory);
  number_rows(tile);
  int64_t failed = 0;
  for (; tile.first < stop; tile.first += capacity) {
    tile.rows = stop - tile.first < capacity ? stop - tile.first : capacity;
    if (!read_variables(tile)) return BAD_INPUT;
    tile.run();
    failed += tile.write(tolerance, result, certified);
  }
  return failed;
}
}
