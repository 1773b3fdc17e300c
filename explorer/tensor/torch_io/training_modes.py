"""In which modes the submodules are whose results depend on `train()` and `eval()`, such as dropout and batch norm.

An export has the operators of one mode. The code of a module tells whether it asks for its mode.
"""

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType

from torch import nn


def training_modes(module: nn.Module) -> frozenset[bool]:
    """The modes of these submodules: True for training, False for evaluation."""
    return frozenset(part.training for part in module.modules() if _asks_for_mode(type(part)) and not _is_idle(part))


def _asks_for_mode(kind: type[nn.Module]) -> bool:
    """Whether a method of a class of modules, apart from those of all modules, reads `training`."""
    classes = [found for found in kind.__mro__ if found not in nn.Module.__mro__]
    functions = [value for found in classes for value in vars(found).values() if isinstance(value, FunctionType)]
    return any("training" in code.co_names for function in functions for code in _codes(inspect.unwrap(function)))


def _codes(function: FunctionType) -> Iterator[CodeType]:
    """The code of a function, and of the functions inside."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield code
        waiting += [value for value in code.co_consts if isinstance(value, CodeType)]


def _is_idle(module: nn.Module) -> bool:
    """Whether a module of PyTorch asks for its mode for a dropout that it does not have."""
    return isinstance(module, nn.RNNBase | nn.MultiheadAttention) and not module.dropout
