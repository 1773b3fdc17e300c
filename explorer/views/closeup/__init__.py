"""The close-up of a plate: how it reads memory, its parameters, its values on an input, its code."""

from explorer.views.closeup.closeup import closeup as closeup
from explorer.views.closeup.values import (
    Input as Input,
    StepRun as StepRun,
    no_values as no_values,
    values_view as values_view,
)
