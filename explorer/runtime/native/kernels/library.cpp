// The functions of the library: evaluation, training, comparing memory, and the limits of the machine.
#include "comparison.h"
#include "limits.h"
#include "steps.h"
