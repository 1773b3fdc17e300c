"""The close-up of a plate: how it reads memory, its parameters, its values on an input, its code."""

from explorer.views.closeup.closeup import closeup as closeup, find_plate as find_plate
from explorer.views.closeup.parameters import (
    NodeValue as NodeValue,
    failure_text as failure_text,
    with_values as with_values,
)
from explorer.views.closeup.values import (
    Input as Input,
    StepRun as StepRun,
    digits_on as digits_on,
    no_values as no_values,
    values_view as values_view,
)
