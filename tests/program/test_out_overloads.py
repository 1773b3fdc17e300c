"""Every `out=` overload that programs call: it writes its results and nothing else, with the bits of the operator.

The calls are those that the samples of PyTorch's own tests (OpInfo) make. Each runs a second time, as in a program: all
its inputs and results are in one storage, and around each result is poison.
"""

import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from explorer import record
from explorer.program.ir.results import (
    FILLED,
    FILLS,
    FROM_OUT,
    WITH_SEVERAL_RESULTS,
    computes_in_place,
    out_overload,
)
from explorer.tensor.ir.schemas import KERNEL_ERRORS
from tests.needed import is_missing

PADDING_BYTES = 1 << 12
POISON = 0x5A
MAX_CALLS = 200
"""The number of calls of an overload that are checked."""
MAX_SAMPLES = 80
"""The number of samples of an operator that run."""
DTYPES = (torch.float32, torch.int64, torch.complex64, torch.bool, torch.bfloat16)
MIN_OVERLOADS = {torch.float32: 200}
"""The number of overloads that are checked at least: fewer would mean that the samples are not found."""


class Arena:
    """One storage, as the planned memory of a program is, for the inputs and results of a call."""

    def __init__(self, tensors: Iterable[Tensor]) -> None:
        self._end = 0
        for one in tensors:
            self._end = self._after(self._end, one)
        self.size_bytes = self._end + PADDING_BYTES
        self.memory = torch.full((self.size_bytes,), POISON, dtype=torch.uint8)
        self._end = 0

    def place(self, like: Tensor) -> tuple[Tensor, int]:
        """A tensor in memory that no other one has, with the strides of a tensor; and its first byte."""
        start = self._end + PADDING_BYTES
        self._end = self._after(self._end, like)
        empty = torch.empty(0, dtype=like.dtype)
        storage = self.memory.untyped_storage()
        return empty.set_(storage, start // like.dtype.itemsize, like.shape, like.stride()), start

    def copy(self, value: Any) -> Any:
        """A tensor with the numbers of another one; anything else as it is."""
        if not _is_plain(value):
            return value
        placed, _ = self.place(value)
        placed.copy_(value)
        return placed

    @staticmethod
    def _after(end: int, one: Tensor) -> int:
        taken = end + PADDING_BYTES + _extent_bytes(one)
        return -(-taken // PADDING_BYTES) * PADDING_BYTES


def _extent_bytes(one: Tensor) -> int:
    last = sum((n - 1) * stride for n, stride in zip(one.shape, one.stride(), strict=True))
    return 0 if 0 in one.shape else (last + 1) * one.dtype.itemsize


def _is_plain(value: Any) -> bool:
    """Whether a value is a tensor that programs have."""
    if not isinstance(value, Tensor) or value.layout is not torch.strided or value.is_quantized:
        return False
    return not (value.is_conj() or value.is_neg())


def _same_numbers(found: Tensor, wanted: Tensor) -> bool:
    """Whether all numbers are equal; nan is equal to nan."""
    if found.is_complex():
        found, wanted = torch.view_as_real(found), torch.view_as_real(wanted)
    return bool(((found == wanted) | ((found != found) & (wanted != wanted))).all())


def faults_of(target: Any, args: Any, kwargs: Any, results: tuple[Tensor, ...]) -> list[str]:
    """The errors of the `out=` overload of an operator in a call that returned these results."""
    found = out_overload(target)
    assert found is not None
    overload, names = found
    kwargs = {name: value for name, value in kwargs.items() if target not in FILLS or name not in FILLED}
    arena = Arena([value for value in (*tree_leaves((args, kwargs)), *results) if _is_plain(value)])
    args, kwargs = tree_map(arena.copy, (args, kwargs))
    before = arena.memory.clone()
    target(*args, **kwargs)
    updated = arena.memory != before  # a batch norm updates statistics that are its inputs
    outs = {name: arena.place(result) for name, result in zip(names, results, strict=True)}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # PyTorch warns before it resizes a result
            overload(*args, **kwargs, **{name: out for name, (out, _) in outs.items()})
    except (*KERNEL_ERRORS, UserWarning) as error:
        return [f"raises {type(error).__name__}: {str(error)[:80]}"]
    if arena.memory.untyped_storage().nbytes() != arena.size_bytes:
        return ["resizes the memory"]
    faults: list[str] = []
    for (out, start), wanted in zip(outs.values(), results, strict=True):
        if (out.shape, out.stride()) != (wanted.shape, wanted.stride()):
            faults.append("changes the shape or the strides")
        elif not _same_numbers(out, wanted):
            faults.append("returns other numbers")
        end = start + _extent_bytes(wanted)
        before[start:end] = arena.memory[start:end]
    return (
        faults if torch.equal(before[~updated], arena.memory[~updated]) else [*faults, "writes outside of its results"]
    )


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
    if not all(map(_is_plain, results)):
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


aten = torch.ops.aten


def _positive(x: Tensor) -> Tensor:
    return x @ x.mT + torch.eye(x.shape[-1], dtype=x.dtype)


SEVERAL: dict[Any, Callable[[Tensor], tuple[Any, ...]]] = {
    aten._linalg_det.default: lambda x: (x,),
    aten._linalg_eigh.default: lambda x: (_positive(x),),
    aten._linalg_slogdet.default: lambda x: (x,),
    aten._linalg_solve_ex.default: lambda x: (x, x.mT + 1),
    aten._linalg_svd.default: lambda x: (x[..., :3],),
    aten.adaptive_max_pool2d.default: lambda x: (x, [2, 3]),
    aten.adaptive_max_pool3d.default: lambda x: (x[None], [2, 2, 3]),
    aten.aminmax.default: lambda x: (x,),
    aten.fractional_max_pool2d.default: lambda x: (x[None], [2, 2], [2, 2], torch.full((1, 2, 2), 0.3, dtype=x.dtype)),
    aten.fractional_max_pool3d.default: lambda x: (
        torch.stack([x, x + 1, x - 1], 1)[None],
        [1, 2, 2],
        [2, 2, 2],
        torch.full((1, 2, 3), 0.3, dtype=x.dtype),
    ),
    aten.geqrf.default: lambda x: (x[..., :3],),
    aten.linalg_cholesky_ex.default: lambda x: (_positive(x),),
    aten.linalg_eig.default: lambda x: (x,),
    aten.linalg_inv_ex.default: lambda x: (x,),
    aten.linalg_ldl_factor_ex.default: lambda x: (x + x.mT,),
    aten.linalg_lu.default: lambda x: (x[..., :3],),
    aten.linalg_lu_factor_ex.default: lambda x: (x,),
    aten.log_sigmoid_forward.default: lambda x: (x,),
    aten.lu_unpack.default: lambda x: torch.linalg.lu_factor(x),
    aten.max.dim: lambda x: (x, 1),
    aten.max_pool2d_with_indices.default: lambda x: (x, [2, 2]),
    aten.max_pool3d_with_indices.default: lambda x: (x[None], [2, 2, 2]),
    aten.min.dim: lambda x: (x, 0, True),
    aten.sort.stable: lambda x: (x,),
    aten.topk.default: lambda x: (x, 2),
    aten.triangular_solve.default: lambda x: (x, _positive(x).triu()),
}
"""Arguments of each operator of several results, made of a tensor of shape (2, 4, 4)."""
KEYWORDS: dict[Any, dict[str, Any]] = {aten.sort.stable: {"stable": True}}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("target", WITH_SEVERAL_RESULTS, ids=str)
def test_operators_of_several_results_write_them_into_one_storage(target, dtype):
    x = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(0), dtype=dtype)
    for value in (x, x.mT, x[:0]):
        args, kwargs = SEVERAL[target](value), KEYWORDS.get(target, {})
        try:
            results = tuple(target(*args, **kwargs))
        except KERNEL_ERRORS:
            assert not value.numel(), "only some of them refuse empty tensors"
            continue
        assert faults_of(target, args, kwargs, results) == []


def test_the_results_of_qr_cannot_be_in_one_storage():
    target = torch.ops.aten.linalg_qr.default
    for x in (torch.rand(4, 4), torch.rand(6, 4)):
        assert faults_of(target, (x,), {}, target(x))
    assert not computes_in_place(target, "cpu")


@pytest.mark.parametrize("mode", ["infer", "train"])
@pytest.mark.parametrize("shape", [(4, 4), (6, 4), (4, 6)])
def test_programs_return_the_results_of_qr(shape, mode):
    class Decomposition(torch.nn.Module):
        def forward(self, x):
            q, r = torch.linalg.qr(x + 1)
            return q.sum(0), r.sum(0)

    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    trace = record(Decomposition(), (x,), level="program", mode=mode)
    for found, wanted in zip(trace.compiled(x), Decomposition()(x), strict=True):
        torch.testing.assert_close(found, wanted, rtol=0, atol=0)
    assert all(step.ok for step in trace.check())


def test_the_check_finds_an_overload_that_enlarges_its_memory():
    target = torch.ops.aten.huber_loss.default
    x, y = torch.rand(4), torch.rand(4)
    assert faults_of(target, (x, y), {}, (target(x, y),))
    assert not computes_in_place(target, "cpu")
    assert faults_of(torch.ops.aten.add.Tensor, (x, y), {}, (x + y,)) == []
