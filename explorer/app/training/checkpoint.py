"""Checkpoints: the values of a circuit's leaves, and the options to compile it again in any mode."""

import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor

from explorer.app.circuits import load_circuit
from explorer.app.training.loop import Epoch
from explorer.backend import TorchCircuit
from explorer.compiler import TorchCompiler
from explorer.errors import FileFormatError
from explorer.options import CompilerOptions

FORMAT = "circuit-explorer checkpoint"
VERSION = 1


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """The values of a circuit, a gallery name or the path of a circuit file; `options` are fields of `CompilerOptions`.

    Leaves are named by the symbolic circuit, so `leaf_state` fits every mode of compilation.
    """

    circuit: str
    options: Mapping[str, Any]
    data: str
    leaf_state: Mapping[str, Tensor]
    history: tuple[Epoch, ...] = ()

    def restore(self, **options: Any) -> TorchCircuit:
        """Compile the circuit with the options of the checkpoint, or different ones, and load the values.

        Raises: UnknownNameError, FileFormatError, ShapeError if the circuit is gone or has changed.
        """
        compiled = TorchCompiler(**{**self.options, **options}).compile(load_circuit(self.circuit))
        compiled.load_leaf_state(self.leaf_state)
        return compiled

    def save(self, path: "str | Path") -> None:
        """Write a checkpoint file; an existing file is replaced only when the new one is complete."""
        target = Path(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        content = {
            "format": FORMAT,
            "version": VERSION,
            "circuit": self.circuit,
            "options": dict(self.options),
            "data": self.data,
            "leaf_state": dict(self.leaf_state),
            "history": [asdict(epoch) for epoch in self.history],
        }
        part = target.with_name(target.name + ".part")
        torch.save(content, part)
        part.replace(target)

    @staticmethod
    def load(path: "str | Path") -> "Checkpoint":
        """Read a checkpoint file; nothing in it is executed.

        Raises: FileFormatError for a foreign, truncated or newer file.
        """
        try:
            content = torch.load(path, map_location="cpu", weights_only=True)
        except OSError as error:
            raise FileFormatError(f"cannot read {path}: {error.strerror or error}") from error
        except (RuntimeError, ValueError, EOFError, KeyError, AttributeError, pickle.UnpicklingError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise FileFormatError(f"{path} is not a {FORMAT}, or it is truncated: {reason}") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise FileFormatError(
                f"{path} is not a {FORMAT}; make one with: circuit-explorer train digits --out {path}"
            )
        if content.get("version") != VERSION:
            raise FileFormatError(
                f"{path} has version {content.get('version')!r}; this program reads version {VERSION}"
            )
        try:
            history = tuple(Epoch(**epoch) for epoch in content["history"])
            checkpoint = Checkpoint(
                content["circuit"], content["options"], content["data"], content["leaf_state"], history
            )
        except (KeyError, TypeError) as error:
            raise FileFormatError(f"{path} is not a complete {FORMAT}: {type(error).__name__}: {error}") from error
        problem = checkpoint._problem()
        if problem is not None:
            raise FileFormatError(f"{path} is not a complete {FORMAT}: {problem}")
        return checkpoint

    def _problem(self) -> str | None:
        """Describe a field of the wrong type, which a file may contain; None if there is none."""
        circuit, options, state = cast("tuple[object, object, object]", (self.circuit, self.options, self.leaf_state))
        if not isinstance(circuit, str):
            return f"its circuit is a {type(circuit).__name__}, not a name"
        if not isinstance(options, Mapping):
            return f"its options are a {type(options).__name__}, not a mapping"
        unknown = set(options) - {f.name for f in fields(CompilerOptions)}
        if unknown:
            return f"its options {sorted(unknown)} are not options of the compiler"
        if not isinstance(state, Mapping) or not all(isinstance(value, Tensor) for value in state.values()):
            return "its values are not tensors by name"
        return None
