"""Small formulas and their compilation for the tests of this folder: by tree search, and by truth tables."""

from collections.abc import Sequence
from itertools import product

import numpy as np

from explorer.templates.logic import LogicBuilder, LogicCircuit, LogicKind

Clauses = Sequence[tuple[int, ...]]


def random_clauses(rng: np.random.Generator, num_variables: int) -> list[tuple[int, ...]]:
    """A few clauses of one to three literals; some variables may not occur."""
    clauses: list[tuple[int, ...]] = []
    for _ in range(int(rng.integers(1, 2 * num_variables))):
        variables = rng.choice(num_variables, size=int(rng.integers(1, min(4, num_variables + 1))), replace=False) + 1
        clauses.append(tuple(int(v) if rng.random() < 0.5 else -int(v) for v in variables))
    return clauses


def all_assignments(num_variables: int) -> np.ndarray:
    """All assignments, one per row."""
    return np.array(list(product((False, True), repeat=num_variables)), dtype=bool).reshape(-1, num_variables)


def models(clauses: Clauses, num_variables: int) -> np.ndarray:
    """Whether each of `all_assignments` satisfies all clauses."""
    x = all_assignments(num_variables)
    found = np.ones(len(x), dtype=bool)
    for clause in clauses:
        found &= np.any([x[:, abs(literal) - 1] == (literal > 0) for literal in clause], axis=0)
    return found


def search(clauses: Clauses, num_variables: int) -> LogicCircuit:
    """The formula by tree search: decide a variable of the first clause, and split what shares no variables."""
    b = LogicBuilder()

    def compile_(rest: frozenset[tuple[int, ...]]) -> int:
        if () in rest:
            return b.false()
        parts = components(rest)
        if len(parts) != 1:
            return b.conjunction([compile_(part) for part in parts])
        variable = abs(min(rest)[0])
        return b.disjunction(
            [b.conjunction([b.literal(x), compile_(condition(rest, x))]) for x in (variable, -variable)]
        )

    return b.build(compile_(frozenset(clauses)), num_variables)


def condition(clauses: frozenset[tuple[int, ...]], literal: int) -> frozenset[tuple[int, ...]]:
    """The clauses where a literal is true."""
    return frozenset(tuple(x for x in clause if x != -literal) for clause in clauses if literal not in clause)


def components(clauses: frozenset[tuple[int, ...]]) -> list[frozenset[tuple[int, ...]]]:
    """The groups of clauses that share no variables with each other."""
    groups: list[tuple[set[int], list[tuple[int, ...]]]] = []
    for clause in sorted(clauses):
        scope, members = set(map(abs, clause)), [clause]
        for group in [group for group in groups if group[0] & scope]:
            groups.remove(group)
            scope, members = scope | group[0], members + group[1]
        groups.append((scope, members))
    return [frozenset(members) for _, members in groups]


def c2d_text(circuit: LogicCircuit) -> str:
    """The circuit as c2d writes it."""
    lines = [f"nnf {len(circuit.nodes)} {circuit.num_edges} {circuit.num_variables}"]
    forms = {LogicKind.AND: "A", LogicKind.OR: "O 0", LogicKind.TRUE: "A", LogicKind.FALSE: "O 0"}
    for node in circuit.nodes:
        if node.kind is LogicKind.LITERAL:
            lines.append(f"L {node.literal}")
        else:
            lines.append(" ".join(map(str, [forms[node.kind], len(node.inputs), *node.inputs])))
    return "\n".join(lines) + "\n"


def d4_text(circuit: LogicCircuit) -> str:
    """The circuit as d4 writes it: literals are on arcs, the root comes first."""
    last = len(circuit.nodes)
    nodes, arcs = [], []
    for number, node in reversed(list(enumerate(circuit.nodes))):
        kind = {"literal": "o", "and": "a", "or": "o", "true": "t", "false": "f"}[node.kind.value]
        nodes.append(f"{kind} {last - number} 0")
        if node.kind is LogicKind.LITERAL:
            arcs.append(f"{last - number} {last + 1} {node.literal} 0")
        arcs.extend(f"{last - number} {last - source} 0" for source in node.inputs)
    return "\n".join([*nodes, f"t {last + 1} 0", *arcs]) + "\n"


def sdd_text(table: np.ndarray, num_variables: int, rng: np.random.Generator | None = None) -> tuple[str, str]:
    """The compressed diagram of a truth table over `all_assignments`, and its vtree: balanced, or drawn at random."""
    middles: dict[tuple[int, int], int] = {}
    vtree: list[str] = []
    lines: list[str] = []
    known: dict[tuple[int, int, bytes], int] = {}
    places: dict[tuple[int, int], int] = {}

    def place(first: int, last: int) -> int:
        if last - first > 1:
            middle = (first + last) // 2 if rng is None else int(rng.integers(first + 1, last))
            middles[first, last] = middle
            children = place(first, middle), place(middle, last)
            vtree.append(f"I {len(vtree)} {children[0]} {children[1]}")
        else:
            vtree.append(f"L {len(vtree)} {first + 1}")
        places[first, last] = len(vtree) - 1
        return places[first, last]

    def add(first: int, last: int, values: np.ndarray) -> int:
        key = (first, last, values.tobytes()) if len(set(values.tolist())) > 1 else (0, 0, values[:1].tobytes())
        if key not in known:
            line = form(first, last, values)
            known[key] = len(lines)
            lines.append(line.replace("ID", str(len(lines))))
        return known[key]

    def form(first: int, last: int, values: np.ndarray) -> str:
        if values.all() or not values.any():
            return f"{'T' if values.all() else 'F'} ID"
        if last - first == 1:
            return f"L ID {places[first, last]} {first + 1 if values[1] else -first - 1}"
        middle = middles[first, last]
        rows = values.reshape(2 ** (middle - first), -1)
        subs = {row.tobytes(): row for row in rows}
        elements = [
            (add(first, middle, np.array([row.tobytes() == sub for row in rows])), add(middle, last, values))
            for sub, values in subs.items()
        ]
        numbers = " ".join(f"{prime} {sub}" for prime, sub in elements)
        return f"D ID {places[first, last]} {len(elements)} {numbers}"

    place(0, num_variables)
    add(0, num_variables, table)
    return "\n".join([f"sdd {len(lines)}", *lines]) + "\n", "\n".join([f"vtree {len(vtree)}", *vtree]) + "\n"
