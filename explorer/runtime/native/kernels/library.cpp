// The functions of the library: evaluation, training, and the limits of the machine.
#include "limits.h"
#include "steps.h"
