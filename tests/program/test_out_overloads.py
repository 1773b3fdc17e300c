"""Every `out=` overload that programs call: it writes its results and nothing else, with the bits of the operator.

The calls are those that the samples of PyTorch's own tests (OpInfo) make. Each runs a second time, into the middle of
poisoned memory.
"""

import warnings
from collections import Counter
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from explorer.program.ir.out_overloads import FROM_OUT, computes_in_place, out_overload
from explorer.tensor.ir.schemas import KERNEL_ERRORS
from tests.needed import is_missing

PADDING_BYTES = 1 << 16
POISON = 0x5A
MAX_CALLS = 200
"""The number of calls of an overload that are checked."""
MAX_SAMPLES = 80
"""The number of samples of an operator that run."""
DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool, torch.bfloat16)
MIN_OVERLOADS = {torch.float32: 200}
"""The number of overloads that are checked at least: fewer would mean that the samples are not found."""


class Place:
    """Memory for a result within poisoned bytes."""

    def __init__(self, wanted: Tensor) -> None:
        self._wanted = wanted
        last = sum((n - 1) * stride for n, stride in zip(wanted.shape, wanted.stride(), strict=True))
        self._size_bytes = 0 if 0 in wanted.shape else (last + 1) * wanted.dtype.itemsize
        self._memory = torch.full((self._size_bytes + 2 * PADDING_BYTES,), POISON, dtype=torch.uint8)
        start = PADDING_BYTES // wanted.dtype.itemsize
        empty = torch.empty(0, dtype=wanted.dtype)
        self.out = empty.set_(self._memory.untyped_storage(), start, wanted.shape, wanted.stride())

    def faults(self) -> list[str]:
        """What is wrong after a kernel has written its result."""
        if self._memory.untyped_storage().nbytes() != self._size_bytes + 2 * PADDING_BYTES:
            return ["resizes the memory"]
        if (self.out.shape, self.out.stride()) != (self._wanted.shape, self._wanted.stride()):
            return ["changes the shape or the strides"]
        padding = self._memory.clone()
        padding[PADDING_BYTES : PADDING_BYTES + self._size_bytes] = POISON
        found = [] if bool((padding == POISON).all()) else ["writes outside of its result"]
        return found if _same_numbers(self.out, self._wanted) else [*found, "returns other numbers"]


def _same_numbers(found: Tensor, wanted: Tensor) -> bool:
    """Whether all numbers are equal; nan is equal to nan."""
    if found.is_complex():
        found, wanted = torch.view_as_real(found), torch.view_as_real(wanted)
    return bool(((found == wanted) | ((found != found) & (wanted != wanted))).all())


def faults_of(target: Any, args: Any, kwargs: Any, results: tuple[Tensor, ...]) -> list[str]:
    """What the `out=` overload of an operator does wrong in a call that returned these results."""
    found = out_overload(target)
    assert found is not None
    overload, names = found
    places = {name: Place(result) for name, result in zip(names, results, strict=True)}
    outs = {name: place.out for name, place in places.items()}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyTorch warns before it resizes a result
            overload(*args, **kwargs, **outs)
    except (*KERNEL_ERRORS, UserWarning) as error:
        return [f"raises {type(error).__name__}: {str(error)[:80]}"]
    return [fault for place in places.values() for fault in place.faults()]


class Checking(TorchDispatchMode):
    """Runs each operator as usual, and its `out=` overload as well if programs call that."""

    def __init__(self) -> None:
        super().__init__()
        self.calls = Counter[str]()
        self.faults: dict[str, list[str]] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        returned = func(*args, **(kwargs or {}))
        results = returned if isinstance(returned, tuple) else (returned,)
        name = str(func)
        if self.calls[name] < MAX_CALLS and _is_planned(func, results, tree_leaves((args, kwargs))):
            self.calls[name] += 1
            faults = faults_of(func, args, kwargs or {}, results)
            if faults:
                self.faults.setdefault(name, faults)
        return returned


def _is_planned(func: Any, results: tuple[Any, ...], given: list[Any]) -> bool:
    """Whether a program would call the `out=` overload: all results are plain tensors with memory of their own."""
    if not isinstance(func, torch._ops.OpOverload) or torch.Tag.nondeterministic_seeded in func.tags:
        return False
    if func._schema.is_mutable or not computes_in_place(func, "cpu"):
        return False
    if not all(isinstance(one, Tensor) and one.layout is torch.strided and not one.is_quantized for one in results):
        return False
    memory = {one.untyped_storage()._cdata for one in given if isinstance(one, Tensor) and one.layout is torch.strided}
    return not any(one.untyped_storage()._cdata in memory for one in results)


@pytest.mark.fuzz
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_out_overloads_write_their_results_and_nothing_else(dtype):
    if find_spec("expecttest") is None:
        is_missing("expecttest, which PyTorch's own tests import", "pip install -e '.[fuzz]', or run `make fuzz`")
    from torch.testing._internal.common_methods_invocations import op_db

    checking = Checking()
    for info in op_db:
        if info.supports_dtype(dtype, "cpu"):
            for sample in list(info.sample_inputs("cpu", dtype))[:MAX_SAMPLES]:
                try:
                    with torch.no_grad(), checking:
                        info(sample.input, *sample.args, **sample.kwargs)
                except (*KERNEL_ERRORS, AssertionError):
                    continue  # not every sample runs in every mode
    assert checking.faults == {}
    assert len(checking.calls) >= MIN_OVERLOADS.get(dtype, 50)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("target", FROM_OUT, ids=str)
def test_operators_that_call_their_out_overload_have_its_bits(target, dtype):
    generator = torch.Generator().manual_seed(0)
    data = torch.randn(3, 4, 5, generator=generator, dtype=torch.complex64 if dtype.is_complex else torch.float32) * 4
    data.view(-1)[:3] = torch.tensor([float("nan"), float("inf"), -0.0])
    x = data.to(dtype) if dtype.is_floating_point or dtype.is_complex else data.nan_to_num().clamp(-9, 9).to(dtype)
    for value in (x, x.permute(2, 0, 1), x[:, ::2], x[:0], x[0, 0, 0]):
        args = (value, value.flip(0) if value.ndim else value)[: len(target._schema.arguments)]
        args = args[:1] if target is torch.ops.aten.nan_to_num.default else args
        try:
            wanted = target(*args)
        except KERNEL_ERRORS:
            continue  # some operators do not accept some dtypes
        assert faults_of(target, args, {}, (wanted,)) == []


def test_the_check_finds_an_overload_that_enlarges_its_memory():
    target = torch.ops.aten.huber_loss.default
    x, y = torch.rand(4), torch.rand(4)
    assert faults_of(target, (x, y), {}, (target(x, y),))
    assert not computes_in_place(target, "cpu")
    assert faults_of(torch.ops.aten.add.Tensor, (x, y), {}, (x + y,)) == []
