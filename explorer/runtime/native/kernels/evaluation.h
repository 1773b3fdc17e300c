// The functions that evaluate a circuit, and the memory of a tile.
#pragma once
#include <thread>

#include "forward.h"

constexpr int64_t MAX_SPINS = 4096;  // of a thread that waits, before it lets others run

static int64_t align(int64_t bytes) { return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES; }

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

static void take_bounds(Tile& tile, Memory& memory) {
  memory.take(tile.bounds, tile.circuit.num_slots * tile.capacity);
  memory.take(tile.tops, tile.circuit.num_slots * tile.capacity);
  memory.take(tile.absorbed, tile.capacity);
}

static void take_scratch(Tile& tile, Memory& memory) {
  const Circuit& circuit = tile.circuit;
  const int64_t floats = tile.capacity * circuit.scratch_floats;
  memory.take(tile.scratch, floats > circuit.scratch_fixed ? floats : circuit.scratch_fixed);
  memory.take(tile.term_scales, tile.capacity);
  memory.take(tile.term_bounds, tile.capacity);
  memory.take(tile.term_tops, tile.capacity);
  memory.take(tile.term_factors, tile.capacity);
  memory.take(tile.zeros, tile.capacity);
  tile.ahead.limit = circuit.ahead_lines < AHEAD_LINES ? circuit.ahead_lines : AHEAD_LINES;
  memory.take(tile.ahead.lines, tile.ahead.size());
}

static void begin_tile(Tile& tile) {
  tile.ahead.begin();
  tile.ahead.end();
  memset(tile.zeros, 0, tile.capacity * sizeof(State));
}

static bool read_variables(Tile& tile) {
  return tile.input.type == INT64     ? tile.read_variables<int64_t>()
         : tile.input.type == FLOAT32 ? tile.read_variables<float>()
                                      : tile.read_variables<double>();
}

// Adds one to a number that threads share; returns what it was.
static int64_t take_next(int64_t* number) { return __atomic_fetch_add(number, 1, __ATOMIC_ACQ_REL); }

static void wait_for(const int64_t* done, int64_t count) {
  for (int64_t spins = 0; __atomic_load_n(done, __ATOMIC_ACQUIRE) < count; spins++)
    if (spins > MAX_SPINS) std::this_thread::yield();
}

static void evaluate_share(EvaluationCall& call, const Share& share, int64_t thread) {
  Tile tile{*call.circuit, *call.input, share.first, share.stop_row, share.rows};
  tile.begin = share.start_row;
  Memory values{call.values + thread * call.values_stride}, scratch{call.scratch + thread * call.scratch_stride};
  take_values(tile, values);
  take_bounds(tile, values);
  take_scratch(tile, scratch);
  begin_tile(tile);
  if (share.reads) tile.begin_absorbing();
  if (share.reads && !read_variables(tile)) __atomic_store_n(&call.is_bad, 1, __ATOMIC_RELEASE);
  if (__atomic_load_n(&call.is_bad, __ATOMIC_ACQUIRE)) return;
  tile.run(share.start_call, share.stop_call);
  if (share.writes) tile.write(call.tolerance, call.result, call.certified);
}

extern "C" {

int64_t lanes() { return LANES; }

// The bytes of memory for the values of tiles of so many rows.
int64_t values_bytes(const Circuit* circuit, int64_t capacity) {
  Input none{};
  Tile tile{*circuit, none, 0, 0, capacity};
  Memory memory{};
  take_values(tile, memory);
  take_bounds(tile, memory);
  return memory.next - (char*)nullptr;
}

// And the bytes that each thread needs in addition.
int64_t scratch_bytes(const Circuit* circuit, int64_t capacity) {
  Input none{};
  Tile tile{*circuit, none, 0, 0, capacity};
  Memory memory{};
  take_scratch(tile, memory);
  return memory.next - (char*)nullptr;
}

// What each thread does: it takes shares until none is left.
void take_shares(EvaluationCall* call) {
  const int64_t thread = take_next(&call->next_thread);
  if (thread >= call->num_threads) return;
  int64_t number;
  while ((number = take_next(&call->next_share)) < call->num_shares) {
    const Share& share = call->shares[number];
    wait_for(&call->done, share.after);
    evaluate_share(*call, share, thread);
    take_next(&call->done);
  }
}
}
