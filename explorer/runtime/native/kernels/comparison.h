// Whether memory still has the bytes of copies.
#pragma once
#include "evaluation.h"

extern "C" {

// What each thread does: it takes a part of every piece until none is left, or one thread has found that a byte differs.
// There may be fewer threads than parts.
void compare_parts(ComparisonCall* call) {
  const int64_t parts = call->num_parts;
  int64_t part;
  while (!__atomic_load_n(&call->differs, __ATOMIC_ACQUIRE) && (part = take_next(&call->next_part)) < parts) {
    for (int64_t piece = 0; piece < call->num_pieces; piece++) {
      const int64_t size = call->sizes[piece], start = size / parts * part;
      const int64_t stop = part == parts - 1 ? size : start + size / parts;
      if (memcmp(call->pieces[piece] + start, call->copies[piece] + start, stop - start))
        __atomic_store_n(&call->differs, 1, __ATOMIC_RELEASE);
    }
    take_next(&call->done);
  }
}
}
