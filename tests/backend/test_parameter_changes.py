"""A circuit always computes with the present values of its parameters, however these change."""

import copy
import threading
from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.func import functional_call, stack_module_state, vmap
from torch.nn.utils import parametrize
from torch.nn.utils.convert_parameters import parameters_to_vector, vector_to_parameters

from explorer.backend import TorchCircuit
from explorer.templates import load_named
from tests.levels.modes import MODE_IDS, MODES, Mode, compile_circuit, some_input

NAME = "levels"
Change = Callable[[TorchCircuit], object]


def data() -> Tensor:
    x = some_input(load_named(NAME), 16)
    assert x is not None
    return x


def expected(circuit: TorchCircuit) -> Tensor:
    """The output of a new circuit with the values of this one."""
    fresh = compile_circuit(load_named(NAME), seed=9).to(next(circuit.parameters()).dtype)
    fresh.load_leaf_state(circuit.leaf_state())
    return fresh(data()).detach()


def _step(make: Callable[[list[nn.Parameter]], torch.optim.Optimizer]) -> Change:
    def change(circuit: TorchCircuit) -> None:
        with torch.enable_grad():
            optimizer = make(list(circuit.parameters()))
            (-circuit(data()).mean()).backward()
            optimizer.step()

    return change


def _optimizers() -> dict[str, Change]:
    kinds = {
        "SGD": torch.optim.SGD,
        "Adam": torch.optim.Adam,
        "AdamW": torch.optim.AdamW,
        "Adagrad": torch.optim.Adagrad,
    }
    found: dict[str, Change] = {}
    for name, kind in kinds.items():
        for how in ("foreach", "fused"):
            found[f"{name} {how}"] = _step(lambda p, kind=kind, how=how: kind(p, lr=0.1, **{how: True}))
        found[name] = _step(lambda p, kind=kind: kind(p, lr=0.1))
    return found


def _each(change: Callable[[Tensor], object]) -> Change:
    return lambda circuit: [change(tensor) for tensor in circuit.parameters()]


def _in_a_thread(circuit: TorchCircuit) -> None:
    thread = threading.Thread(target=lambda: _each(lambda p: p.data.mul_(1.1))(circuit))
    thread.start()
    thread.join()


def _swap(tensor: Tensor) -> None:
    torch.utils.swap_tensors(tensor, nn.Parameter(tensor.detach() * 1.1))


def _replace(circuit: TorchCircuit) -> None:
    for i, tensor in enumerate(circuit.tensors):
        circuit.tensors[i] = nn.Parameter(tensor.detach() * 1.1)


def _grow(module: nn.Module) -> None:
    for tensor in module.parameters(recurse=False):
        tensor.mul_(1.1)


def _state(circuit: TorchCircuit) -> dict[str, Tensor]:
    return {name: value * 1.1 for name, value in circuit.state_dict().items()}


CHANGES: dict[str, Change] = {
    **_optimizers(),
    "load_state_dict": lambda circuit: circuit.load_state_dict(_state(circuit)),
    "load_state_dict assign": lambda circuit: circuit.load_state_dict(_state(circuit), assign=True),
    "load_leaf_state": lambda circuit: circuit.load_leaf_state({k: v * 1.1 for k, v in circuit.leaf_state().items()}),
    "reset_parameters": lambda circuit: circuit.reset_parameters(5),
    "vector_to_parameters": lambda circuit: vector_to_parameters(
        parameters_to_vector(circuit.parameters()) * 1.1, circuit.parameters()
    ),
    "in place": _each(lambda p: p.mul_(1.1)),
    "foreach": lambda circuit: torch._foreach_mul_(list(circuit.parameters()), 1.1),  # pyright: ignore[reportPrivateImportUsage]
    "copy_": _each(lambda p: p.copy_(p * 1.1)),
    "set_": _each(lambda p: p.set_((p.detach() * 1.1).untyped_storage(), 0, p.shape, p.stride())),
    "a slice": _each(lambda p: p[0].fill_(0.3)),
    "in place on .data": _each(lambda p: p.data.mul_(1.1)),
    "another .data": _each(lambda p: setattr(p, "data", p.data * 1.1)),
    "in place on a detached tensor": _each(lambda p: p.detach().mul_(1.1)),
    "numpy": _each(lambda p: p.detach().numpy().__imul__(1.1)),
    "storage": _each(lambda p: p.untyped_storage().copy_((p.detach() * 1.1).untyped_storage())),
    "swap_tensors": _each(_swap),
    "another parameter": _replace,
    "another thread": _in_a_thread,
    "to float32": lambda circuit: circuit.to(torch.float32),
    "to float32 and back": lambda circuit: circuit.to(torch.float32).to(torch.float64),
    "apply": lambda circuit: circuit.apply(_grow),
}


@pytest.mark.parametrize("grad", [False, True], ids=["no grad", "grad"])
@pytest.mark.parametrize("change", CHANGES)
def test_a_change_is_seen_by_the_next_call(change: str, grad: bool):
    circuit, x = compile_circuit(load_named(NAME)).eval(), data()
    with torch.set_grad_enabled(grad):
        before = circuit(x).detach()
    with torch.no_grad():
        CHANGES[change](circuit)
    with torch.set_grad_enabled(grad):
        found = circuit(x).detach()
    assert torch.equal(found, expected(circuit))
    assert not torch.equal(found, before)


def test_a_change_in_inference_mode_is_seen():
    circuit, x = compile_circuit(load_named(NAME)).eval(), data()
    with torch.inference_mode():
        before = circuit(x)
        for tensor in circuit.parameters():
            tensor.mul_(1.1)
        found = circuit(x)
        assert not torch.equal(found, before)
    assert torch.equal(found, circuit(x))


def test_functional_call_uses_the_parameters_of_each_call():
    circuit, x = compile_circuit(load_named(NAME)).eval(), data()
    with torch.no_grad():
        for factor in (1.1, 0.9, 1.3, 1.1):
            parameters = {name: value * factor for name, value in circuit.named_parameters()}
            found = functional_call(circuit, parameters, (x,))
            twin = copy.deepcopy(circuit)
            twin.load_state_dict(parameters)
            assert torch.equal(found, twin(x))
            del parameters


@pytest.mark.parametrize("mode", MODES, ids=MODE_IDS)
def test_an_ensemble_computes_the_values_of_its_members(mode: Mode):
    members, x = [compile_circuit(load_named(NAME), seed=seed, **mode).eval() for seed in range(3)], data()
    parameters, buffers = stack_module_state(members)
    with torch.no_grad():
        found = vmap(lambda p, b: functional_call(members[0], (p, b), (x,)))(parameters, buffers)
        torch.testing.assert_close(found, torch.stack([member(x) for member in members]), rtol=1e-12, atol=1e-12)


class _Doubled(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * x


def test_a_parametrization_is_seen_and_its_removal_too():
    circuit, x = compile_circuit(load_named(NAME)).eval(), data()
    with torch.no_grad():
        before = circuit(x)
        parametrize.register_parametrization(circuit.tensors, "0", _Doubled())
        doubled = circuit(x)
        assert not torch.equal(doubled, before)
        parametrize.remove_parametrizations(circuit.tensors, "0", leave_parametrized=False)
        assert torch.equal(circuit(x), before)


def test_a_call_under_autocast_has_no_lasting_effect():
    circuit, x = compile_circuit(load_named(NAME)).float().eval(), data()
    with torch.no_grad():
        before = circuit(x)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            circuit(x)
        assert torch.equal(circuit(x), before)


def test_the_default_dtype_of_a_call_has_no_lasting_effect():
    circuit, x = compile_circuit(load_named(NAME)).eval(), data()
    with torch.no_grad():
        before = circuit(x)
        default = torch.get_default_dtype()
        torch.set_default_dtype(torch.float32)
        try:
            assert torch.equal(circuit(x), before)
        finally:
            torch.set_default_dtype(default)
        assert torch.equal(circuit(x), before)
