// What each thread of a team does: it takes numbers until none is left, and calls a function with each.
#pragma once
#include <cstdint>

using Function = void(int64_t);

// Numbers next .. count-1 are left. A team may have fewer threads than numbers, or more.
struct Numbers {
  int64_t next, count;
  Function* call;
};

extern "C" {

void take_numbers(Numbers* numbers) {
  int64_t number;
  while ((number = __atomic_fetch_add(&numbers->next, 1, __ATOMIC_RELAXED)) < numbers->count) numbers->call(number);
}
}
