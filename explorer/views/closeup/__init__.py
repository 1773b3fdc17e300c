"""The close-up of a plate: how it reads memory, its parameters, its values on an input, its code."""

from explorer.views.closeup.closeup import closeup as closeup
