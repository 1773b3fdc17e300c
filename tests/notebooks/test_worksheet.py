"""The answers to the worksheet agree with the engine."""

import re
from pathlib import Path
from typing import Any

import explorer
from explorer.symbolic.operators import multiply
from explorer.trace import Trace, pairs_of

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
SHEET = (NOTEBOOKS / "worksheet.md").read_text(encoding="utf-8")
ANSWERS = (NOTEBOOKS / "solutions" / "worksheet.md").read_text(encoding="utf-8")
WAYS: tuple[dict[str, Any], ...] = (
    {"optimize": False, "fold": False},
    {"optimize": False},
    {"fold": False},
    {},
)


def made(code_of: Any = lambda code: code) -> dict[str, Any]:
    """Run the code of the worksheet; return its names."""
    (code,) = re.findall(r"^```python\n(.*?)^```", SHEET, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    exec(code_of(code), names)  # the worksheet is a file of this repository
    return names


def folded(circuit: Any) -> Any:
    return explorer.record(circuit, optimize=False)


def test_both_have_the_same_questions() -> None:
    titles = re.compile(r"^## (.*)$", re.MULTILINE)
    assert titles.findall(SHEET) == titles.findall(ANSWERS)


def test_1_levels_and_groups() -> None:
    circuit = made()["circuit"]
    trace = folded(circuit)
    levels = {group.level for group in trace.fold_groups()}
    for level in levels:
        groups = [[circuit.names[member] for member in group.members] for group in trace.fold_groups(level)]
        layers = ", ".join(name for group in groups for name in group)
        assert f"| {level} | {layers} | {', '.join(' '.join(group) for group in groups)} |" in ANSWERS


def test_2_the_index_table() -> None:
    circuit = made()["circuit"]
    (group,) = folded(circuit).fold_groups(1)
    rows: Any = group.index
    for at, (member, row) in enumerate(zip(group.members, rows, strict=True)):
        cells = " | ".join(f"({node}, {piece})" for node, piece in row)
        assert f"| slice {at}, `{circuit.names[member]}` | {cells} |" in ANSWERS


def test_3_a_gather_and_a_transpose() -> None:
    other = made(lambda code: code.replace("builder.hadamard(x3, x1", "builder.hadamard(x1, x3"))
    for names, said in ((made(), "**64 bytes**"), (other, "**0 bytes**")):
        trace = folded(names["circuit"])
        (group,) = trace.fold_groups(1)
        assert f"**{group.read}**" in ANSWERS
        assert said == f"**{trace.stats(-1)['copied_bytes']} bytes**"
        assert said in ANSWERS


def test_4_the_number_of_layers_left() -> None:
    also = made(lambda code: code.replace("builder.build(r)", "builder.build(r, a)"))
    rows = (("the circuit above", made()), ("with `a` as an output too: `builder.build(r, a)`", also))
    for title, names in rows:
        left = [explorer.record(names["circuit"], **how).stats(-1)["layers"] for how in WAYS]
        assert f"| {title} | {' | '.join(map(str, left))} |" in ANSWERS


def test_5_a_circuit_with_this_index_table() -> None:
    made_by = made()
    builder = explorer.CircuitBuilder()
    coins = [builder.add(made_by["CategoricalInput"](2)(v, 4)) for v in range(10)]
    products = [builder.hadamard(coins[v], coins[v + 1]) for v in range(0, 10, 2)]
    sums = [builder.sum(products[at], num_units=4) for at in (1, 4)]
    trace = folded(builder.build(*sums, *(products[at] for at in (0, 2, 3))))
    (group,) = [one for one in trace.fold_groups() if len(one.members) == 2]
    assert [[piece for _, piece in row] for row in group.index] == [[1], [4]]


def test_6_the_units_weights_and_leaves_of_a_square() -> None:
    circuit = made()["circuit"]
    square = multiply(circuit, circuit)
    weights = {path: " x ".join(map(str, parameter.shape)) for path, parameter in square.parameters()}
    number = {name: at for at, name in square.names.items()}
    for name, kind in (("x0", "logits"), ("a", ""), ("s", "weight"), ("r", "weight")):
        at = number[name]
        weight = weights[f"{at}.{kind}"] if kind else "none"
        assert f"| `{name}` | 4 | {square.graph.nodes[at].num_output_units} | {weight} |" in ANSWERS
    assert f"**{len(circuit.leaf_names)}** leaves" in ANSWERS
    assert f"**{len(set(square.leaf_names) - set(circuit.leaf_names))}** more" in ANSWERS
    assert f"**{explorer.record(square).stats(-1)['layers']}** layers are left" in ANSWERS


def test_7_rounds_of_fusion() -> None:
    trace = Trace.load(NOTEBOOKS / "recorded" / "two-outputs-torch.trace.json.gz")
    lowered, first = trace.graph_at("lower"), trace.step("fuse/round 1")
    nodes = [number for number, call in lowered.nodes.items() if call.title == "softmax"]
    said = {(pair.one, pair.other): pair for pair in pairs_of(first)}

    def words(one: int, other: int) -> str:
        pair = said.get((one, other))
        if pair is None:
            return "not tried"
        return "between" if pair.reason.startswith("intermediate nodes") else pair.verdict.value

    for at, (name, one) in enumerate(zip("mes", nodes[:3], strict=True)):
        cells = [""] * at + [f" {words(one, other)}" for other in nodes[at + 1 :]]
        assert f"| `{name}` |{' |'.join(cells)} |" in ANSWERS
    (kernel,) = [call for call in trace.graph_at("fuse/round 2").nodes.values() if "softmax" in call.title]
    assert "**1** kernel is left" in ANSWERS
    inside = sum(lowered.nodes[number].config["bytes"] for number in nodes[:3])
    assert len(kernel.config["stays inside"]) == 3
    assert f"**{inside:,}**" in ANSWERS
