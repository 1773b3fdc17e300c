"""The operators of compiled parameter graphs: one class each, its config and its kernel. Axes do not count folds."""

from explorer.backend.parameters.operators.arrangements import *  # noqa: F403
from explorer.backend.parameters.operators.contractions import *  # noqa: F403
from explorer.backend.parameters.operators.entrywise import *  # noqa: F403
from explorer.backend.parameters.operators.input_functions import *  # noqa: F403
