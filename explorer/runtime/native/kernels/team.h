// What each thread of a team does: it takes numbers until none is left, and calls a function with each.
#pragma once
#include "real.h"

extern "C" {

void take_numbers(Queue* queue) {
  int64_t number;
  while ((number = __atomic_fetch_add(&queue->next, 1, __ATOMIC_RELAXED)) < queue->count) queue->call(number);
}
}
