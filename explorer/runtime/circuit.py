"""A circuit that is called as the one it was made of, and runs on the fastest backend that is right for the call."""

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Self

import torch
from torch import Tensor, nn

from explorer.backend import EvaluatedCircuit, FrozenCircuit, TorchCircuit, TorchContinuousLayer
from explorer.backend.evaluation import forward_layer
from explorer.backend.numeric import DOUBLES
from explorer.errors import CertificateWarning, DataTypeError, LoweringError, ValueRangeError, warn
from explorer.runtime.backends import Backend, Choice, records_gradients

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""The hooks that a module calls before or after `forward` or the backward pass."""

METHODS = ("forward", "activations", "evaluate_layer", "layer_values", "parameter_values", "node_values", "read_inputs")
"""The methods of circuits that backends do not call, and compute the same as."""

_is_exporting: Callable[[], bool] = getattr(torch.compiler, "is_exporting", lambda: True)
"""Whether `torch.export` traces a call; torch 2.6 does not tell it from `torch.compile`."""
CIRCUIT_CLASSES = (TorchCircuit, FrozenCircuit)
"""The circuits that can be made fast."""


@dataclass(frozen=True, slots=True)
class Certificate:
    """The number of rows of a call, and of those that were not certified and evaluated in double precision."""

    rows: int
    rows_recomputed: int


class FastCircuit(nn.Module):
    """Maps x (B, D) to (B, outputs, classes) as the circuit that it was made of, with the same parameters and buffers.

    Shapes, devices, errors, gradients and `state_dict()` are the same as in the circuit; changed parameters are seen.
    A call that the backend cannot answer runs the circuit itself, without a certificate; a `CertificateWarning` says
    why, once, and `why_not(x)` at any time. `explain()` names the backend.
    Continuous variables of an x of float64 are rounded to the float32 of the parameters, as they are by the circuit.
    `torch.compile` and `torch.export` read the circuit itself, so their graphs have no certificate, no warning and no
    fallback: terms more than 103 nats below the largest input of a sum underflow there.

    Raises: DataTypeError if it is moved to the meta device. Raises on call: ShapeError, DataTypeError, ValueRangeError
    for input that does not fit.
    """

    circuit: EvaluatedCircuit

    def __init__(self, circuit: EvaluatedCircuit, backend: Backend, choices: tuple[Choice, ...]) -> None:
        super().__init__()
        self.__dict__["circuit"] = circuit  # not as a submodule: names of parameters stay what they are
        for shared in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            self.__dict__[shared] = circuit.__dict__[shared]
        self.backend = backend
        self.choices = choices
        self.certificate: Certificate | None = None
        """The certificate of the last call; None if the circuit itself answered it, or if it raised an error."""
        self.circuit_answered = False
        """Whether the circuit itself answered the last call."""
        self._warned_of = set[str]()
        """The reasons why calls had no certificate; all reasons of the backend are one, the empty string."""

    @property
    def num_variables(self) -> int:
        """D, the number of columns of x."""
        return self.circuit.num_variables

    def forward(self, x: Tensor | None = None) -> Tensor:
        """The value of the circuit: x (B, D) -> (B, outputs, classes); without x (outputs, classes)."""
        if torch.compiler.is_compiling():  # nothing here is traced
            if not _is_exporting():
                self.circuit_answered, self.certificate = True, None
            return self.circuit(x)
        state = self.__dict__  # nn.Module takes 3 microseconds to set an attribute
        state["circuit_answered"], state["certificate"] = False, None  # also if this call raises an error
        rows = self._rows(x)
        reason = self._why_not_tried(rows)
        found = None if reason else self.backend.evaluate(rows)
        if found is None:
            answer = self.circuit(x)
            state["circuit_answered"] = True
            if rows.shape[0] and reason not in self._warned_of:
                self._warned_of.add(reason)
                self._warn_of_no_certificate(reason or self.backend.why_not(rows))
            return answer
        result, recomputed = found
        state["certificate"] = Certificate(rows.shape[0], recomputed)
        return result[0] if x is None else result

    def fast(self, *, backend: str = "auto", batch_size: int | None = None) -> "FastCircuit":
        """The circuit that it was made of on a backend that is chosen again, as `explorer.fast` chooses it."""
        return _made_fast(self.circuit.fast(backend=backend, batch_size=batch_size))

    def freeze(self) -> "FastCircuit":
        """The circuit that it was made of, frozen (`TorchCircuit.freeze`), on the same backend.

        If that backend cannot run it with its present parameters, another one is chosen, and `explain()` says why.

        Raises: DataTypeError if that circuit is frozen already.
        """
        if not isinstance(self.circuit, TorchCircuit):
            raise DataTypeError(
                f"only a circuit with parameters can be frozen; this is a fast {type(self.circuit).__name__}: call it "
                "as it is"
            )
        circuit, name = self.circuit.freeze(), self.backend.name
        try:
            frozen = _made_fast(circuit.fast(backend=name))
        except LoweringError:
            return _made_fast(circuit.fast())
        kept = Choice(name, f"used, kept from the circuit that was frozen: {frozen.backend.describe()}")
        frozen.choices = tuple(kept if choice.name == name else choice for choice in self.choices)
        return frozen

    @torch.no_grad()
    def prepare(self, batch_size: int) -> None:
        """Warm up for this batch size: compile, and allocate or capture, on a batch of zeros.

        Raises: DataTypeError if it is not an integer; ValueRangeError if it is below 1.
        """
        if isinstance(batch_size, bool) or not isinstance(batch_size, Integral):
            raise DataTypeError(f"batch_size must be an integer; found {batch_size!r}")
        if batch_size < 1:
            raise ValueRangeError(f"batch_size must be at least 1; found {batch_size}")
        held = self.circuit.held_tensors
        is_continuous = any(isinstance(layer, TorchContinuousLayer) for layer in self.circuit.layers)
        dtype = torch.float32 if is_continuous else torch.int64
        shape = (int(batch_size), self.num_variables)
        x = torch.zeros(shape, dtype=dtype, device=held[0].device if held else None)
        if not self.why_not(x):
            self.backend.evaluate(x)

    def why_not(self, x: Tensor | None = None) -> str:
        """Return why a call with x would run the circuit itself; empty if the backend answers it."""
        rows = self._rows(x)
        return self._why_not_tried(rows) or self.backend.why_not(rows)

    def _rows(self, x: Tensor | None) -> Tensor:
        """The rows of a call; without x, one without variables, if the circuit reads none."""
        return x if x is not None or self.circuit.reads_variables else self.circuit.check_rows(None)  # type: ignore[return-value]

    def _why_not_tried(self, x: Tensor) -> str:
        circuit = self.circuit
        if not isinstance(x, Tensor) or x.dim() != 2 or x.shape[1] != circuit.num_variables or not x.shape[0]:
            return f"x is not of shape (B, {circuit.num_variables}) with at least one row"
        if x.is_complex() or x.requires_grad:
            return "x is complex or requires a gradient"
        if any(map(circuit.__dict__.get, HOOKS)):
            return "the circuit has hooks, which only it calls; register them on the fast circuit"
        if circuit.call_layer is not forward_layer:
            return "the circuit has a custom `call_layer`"
        if custom := _custom_methods(circuit):
            return f"the circuit has a custom {' and '.join(f'`{name}`' for name in custom)}"
        if not self.backend.trains and records_gradients(circuit):
            return f"gradients are recorded, and {self.backend.name} has none; call it under torch.no_grad()"
        return ""

    def _warn_of_no_certificate(self, reason: str) -> None:
        advice = ""
        if not self.circuit.number_types <= DOUBLES:
            advice = "; call circuit.double() where seven digits are too few"
            if not self.circuit.semiring.is_logarithmic:  # otherwise, layers see to weights that underflow
                advice += " or values may underflow"
        warn(
            "a call of a fast circuit has no certificate, as the circuit itself answered it in its own precision: "
            f"{reason}{advice}",
            CertificateWarning,
        )

    def explain(self) -> str:
        """Return which backend it has and why not the others, and how the last call went: one line each."""
        lines = [f"{choice.name}: {choice.reason}" for choice in self.choices]
        if remark := self.backend.remark():
            lines.append(f"{self.backend.name}: {remark}")
        if self.certificate is not None:
            rows, recomputed = self.certificate.rows, self.certificate.rows_recomputed
            certified = f"{rows - recomputed} of {rows} rows certified, {recomputed} again in double precision"
            lines.append(f"last call: {certified if recomputed < rows else f'all {rows} rows in double precision'}")
        if not self.backend.trains and any(one.requires_grad for one in self.parameters()):
            lines.append(
                f"training: {self.backend.name} has no gradients; calls that record them run the circuit itself, "
                "in its own precision and without a certificate"
            )
        if self.circuit_answered:
            lines.append("last call: the circuit itself, without a certificate; why_not(x) says why")
        return "\n".join(lines)

    def _load_from_state_dict(self, *args: Any, **options: Any) -> None:
        self.circuit._load_from_state_dict(*args, **options)

    def _apply(self, fn: Any, recurse: bool = True) -> Self:
        if fn(torch.zeros(1)).device.type == "meta":
            raise DataTypeError(
                "a fast circuit reads the values of its parameters, and there are none on the meta device; "
                "move the circuit that it was made of, and call fast() once it has values"
            )
        self.circuit._apply(fn, recurse)
        self.circuit_answered, self.certificate = False, None
        return self

    def __repr__(self) -> str:
        return f"FastCircuit({self.backend.name}) of {self.circuit!r}"


def _custom_methods(circuit: EvaluatedCircuit) -> list[str]:
    """The names in `METHODS` that a subclass or the circuit itself replaces."""
    kind, own = type(circuit), circuit.__dict__
    if kind in CIRCUIT_CLASSES and own.keys().isdisjoint(METHODS):
        return []
    base = FrozenCircuit if issubclass(kind, FrozenCircuit) else TorchCircuit
    return [name for name in METHODS if getattr(kind, name, None) is not getattr(base, name, None) or name in own]


def _made_fast(module: nn.Module) -> FastCircuit:
    """Narrow the type of `EvaluatedCircuit.fast`: its package is below this one, and cannot name it."""
    assert isinstance(module, FastCircuit)
    return module
