// The functions that evaluate a circuit, in double precision: bounds are relative to the smallest double.
#define DOUBLES
#include "evaluation.h"
