// Lines of memory that the next call reads, fetched into the cache while the present one multiplies, which leaves the way
// to the memory idle.
#pragma once
#include "vectors.h"

constexpr int64_t AHEAD_LINES = 4096;  // fetched for a call at most: a fourth of the second cache
constexpr int64_t AHEAD_STEPS = 256;   // of a matrix product that fetches: its summands
constexpr int64_t STEP_LINES = 2;      // with one, tables are late; with four, multiplications wait for the memory

// For matrix products that fetch nothing.
struct NothingAhead {
  const char* const* take(int64_t) const { return nullptr; }
  static void fetch(const char* const*, int64_t) {}
};

// The addresses of `count` lines, of which those before `next` have been fetched; after them come addresses of a line
// that is in the cache, for as many steps as a product has.
struct Ahead {
  const char** lines;
  int64_t limit, count, next;

  int64_t size() const { return limit + STEP_LINES * AHEAD_STEPS; }

  void begin() { count = next = 0; }

  void add(const void* from, int64_t bytes) {
    const char *start = (const char*)((uintptr_t)from / LINE_BYTES * LINE_BYTES), *stop = (const char*)from + bytes;
    int64_t some = (stop - start + LINE_BYTES - 1) / LINE_BYTES;
    if (some > limit - count) some = limit - count;
    for (int64_t i = 0; i < some; i++) lines[count + i] = start + i * LINE_BYTES;
    count += some;
  }

  // Rows by number: some lines may be listed twice, and the last one of a row that is no multiple of 32 bytes not at all.
  template <class Number>
  void add_rows(const void* from, int64_t bytes, const Number* numbers, int64_t rows) {
    const int64_t offset = (uintptr_t)from % LINE_BYTES, last = (bytes + (bytes % LINE_BYTES || offset ? LINE_BYTES : 0) - 1) / LINE_BYTES;
    if (rows > (limit - count) / (last + 1)) rows = (limit - count) / (last + 1);
    const char** to = lines + count;
    for (int64_t b = 0; b < rows; b++)
      for (int64_t i = 0; i <= last; i++) *to++ = (const char*)from - offset + numbers[b] * bytes + i * LINE_BYTES;
    count = to - lines;
  }

  void end() {
    for (int64_t i = 0; i < STEP_LINES * AHEAD_STEPS; i++) lines[count + i] = (const char*)lines;
  }

  // The lines for some steps of a product, at most AHEAD_STEPS.
  const char* const* take(int64_t steps) {
    const char* const* found = lines + next;
    next = next + STEP_LINES * steps < count ? next + STEP_LINES * steps : count;
    return found;
  }

  static void fetch(const char* const* found, int64_t step) {
    UNROLL for (int i = 0; i < STEP_LINES; i++) __builtin_prefetch(found[STEP_LINES * step + i], 0, 2);
  }

  // Fetches what no product has fetched.
  void finish() {
    for (; next < count; next++) __builtin_prefetch(lines[next], 0, 2);
  }
};
