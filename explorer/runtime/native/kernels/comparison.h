// Whether memory still has the bytes of copies.
#pragma once
#include "evaluation.h"

extern "C" {

// What each thread does: it compares its parts of all pieces, until one thread finds that a byte differs.
void compare_parts(ComparisonCall* call) {
  const int64_t thread = take_next(&call->next_thread), threads = call->num_threads;
  if (thread >= threads) return;
  for (int64_t piece = 0; piece < call->num_pieces && !__atomic_load_n(&call->differs, __ATOMIC_ACQUIRE); piece++) {
    const int64_t size = call->sizes[piece], start = size / threads * thread;
    const int64_t stop = thread == threads - 1 ? size : start + size / threads;
    if (memcmp(call->pieces[piece] + start, call->copies[piece] + start, stop - start))
      __atomic_store_n(&call->differs, 1, __ATOMIC_RELEASE);
  }
}
}
