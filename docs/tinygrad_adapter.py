"""An adapter of tinygrad: how it compiles a kernel, as a trace of Circuit Explorer.

tinygrad keeps every graph that it rewrites if TRACK_MATCH_STATS is 2. This program runs a file with that, and writes
what was kept as a trace file: `python tinygrad_adapter.py PROGRAM.py TRACE.json`. `watch_tinygrad` does both for
`circuit-explorer watch --adapter tinygrad PROGRAM.py`. Written for tinygrad 0.14.
"""

import json
import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from itertools import count, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from explorer.trace import Trace

COLOURS = re.compile(r"\x1b\[\d+m")
LEAVES = ("CONST", "RANGE", "SPECIAL", "DEFINE_VAR")
VIEWS = ("RESHAPE", "EXPAND", "PERMUTE", "PAD", "SHRINK", "FLIP", "AFTER", "GROUP")


def watch_tinygrad(source: str) -> "Trace":
    """The adapter: run a program in a process of its own, and read the trace file that it wrote."""
    from explorer.errors import CircuitError
    from explorer.trace.trace_files import load_trace

    with TemporaryDirectory() as folder:
        file = Path(folder) / "trace.json"
        command = [sys.executable, __file__, str(source), str(file)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise CircuitError(f"{source} failed under tinygrad: {done.stderr.strip()[-1000:]}")
        return load_trace(file)


class TraceFile:
    """The rows of a trace file: nodes once each, and for each step what changed since the one before."""

    def __init__(self, uops: dict[int, Any]) -> None:
        self.uops = uops  # number: (operator, dtype, numbers of sources, argument, tag)
        self.nodes: list[Any] = []
        self.positions: dict[str, int] = {}
        self.steps: list[Any] = []
        self.seconds: list[tuple[float, list[float]]] = []
        self.before: dict[int, tuple[int, list[int]]] = {}  # number: (position in `nodes`, numbers of sources)
        self.outputs: list[int] = []
        self.numbers: dict[int, int] = {}  # number here: number in tinygrad
        self.sink, self.fresh = -1, count()

    def add_step(self, name: str, sink: int, seconds: float, notes: list[str]) -> None:
        """Write the graph under a sink as the state after a step."""
        graph, outputs = self.graph_of(sink)
        calls = sum(self.nodes[row]["kind"] == "operator" for row, _ in graph.values())
        removed = [node for node in self.before if node not in graph]
        added = [node for node in graph if node not in self.before]
        rewired = [[node, reads] for node, (_, reads) in graph.items() if node in self.before]
        rewired = [[node, reads] for node, reads in rewired if reads != self.before[node][1]]
        changed = bool(removed or added or rewired or outputs != self.outputs)
        step = {
            "stages": [[name, None, 1]],  # the pass; rounds would have a number
            "part": 1,
            "level": "watched",
            "changed": changed,
            "removed": removed,
            "added": [[node, *graph[node]] for node in added],
            "rewired": rewired,
            "outputs": outputs,
            "stats": {"calls": calls, "views": len(graph) - calls, "moved_bytes": 0, "peak_bytes": 0},
            "matches": [],
            "rewrites": [],
            "refusals_over": {},
            **{name: [] for name in ("replaced", "refusals", "lost", "folds", "limits")},
            "error": None,
            "notes": notes,
        }
        times: list[float] = []
        if self.steps and changed:  # one match, and one rewrite that applied it
            root = removed[-1] if removed else next(iter(self.before))
            step["matches"] = [[name, root, removed or [root], ""]]
            step["rewrites"] = [[0, name, removed, added, ""]]
            times = [seconds]
        self.before, self.outputs = graph, outputs
        self.steps.append(step)
        self.seconds.append((seconds, times))

    def graph_of(self, sink: int) -> tuple[dict[int, tuple[int, list[int]]], list[int]]:
        """The graph under a sink; a node keeps its number if the state before had it at the same place."""
        old, self.numbers = self.numbers, {}
        alike: dict[int, int] = {}
        pairs = [(sink, self.sink)] if self.steps else []
        while pairs:  # walk down both graphs, as far as they are alike
            new, was = pairs.pop()
            if new in alike or self.uops[new][:2] != self.uops[was][:2] or self.row_of(new) != self.row_of(was):
                continue
            alike[new] = was
            if len(self.uops[new][2]) == len(self.uops[was][2]):
                pairs += zip(self.uops[new][2], self.uops[was][2], strict=True)
        graph: dict[int, tuple[int, list[int]]] = {}
        taken: set[int] = set()
        stack = [sink]
        while stack:
            uop = stack[-1]
            sources = self.uops[uop][2]
            waiting = [one for one in sources if one not in self.numbers]
            if waiting:
                stack += waiting
                continue
            stack.pop()
            if uop in self.numbers:
                continue
            number = old.get(uop, old.get(alike.get(uop, -1)))
            self.numbers[uop] = next(self.fresh) if number is None or number in taken else number
            taken.add(self.numbers[uop])
            graph[self.numbers[uop]] = (self.row_of(uop), [self.numbers[one] for one in sources])
        self.sink = sink
        return graph, [self.numbers[sink]]

    def row_of(self, uop: int) -> int:
        """The position of a node in the table of nodes, where equal ones are written once."""
        operator, dtype, _, argument, *_ = self.uops[uop]
        kind = "leaf" if operator.name in LEAVES else "view" if operator.name in VIEWS else "operator"
        kind = "input" if operator.name in ("PARAM", "BUFFER") else kind
        config = {"results": [str(dtype).removeprefix("dtypes.")], "bytes": 0}
        if argument is not None:
            config["argument"] = str(argument)[:80]
        view = "View." if kind == "view" else ""  # runs nothing
        row = {"type": view + operator.name, "title": operator.name, "kind": kind, "folds": 1, "config": config}
        if kind == "input":
            row["scope"] = []
        key = json.dumps(row)
        if key not in self.positions:
            self.positions[key] = len(self.nodes)
            self.nodes.append(row)
        return self.positions[key]

    def data(self, subject: str) -> dict[str, Any]:
        """The whole file as data of JSON types."""
        names = dict.fromkeys(step["stages"][0][0] for step in self.steps[1:])
        rule = {"entries": ["an operator"], "kind": "watched", "exactness": "real", "doc": "", "source": ""}
        options = {"level": "watched", "subject": subject, "pipeline": list(names), "mode": "infer"}
        return {
            "format": "circuit-explorer trace",
            "version": 2,
            "options": {
                **options,
                "operators": "functional",
                "layout": "",
                "one_by_one": False,
                "compiler": "tinygrad",
            },
            "rules": [{"name": name, "pattern": name, **rule} for name in names],
            "circuit": None,
            "steps": self.steps,
            "nodes": self.nodes,
            "parameters": [],
            "times": {
                "steps": [seconds for seconds, _ in self.seconds],
                "rewrites": [times for _, times in self.seconds],
                "folds": [[] for _ in self.seconds],
            },
        }


def trace_of_kernel(keys: list[Any], groups: list[Any], uops: dict[int, Any]) -> dict[str, Any]:
    """The trace of the kernel with the most rewrites; a rewrite begins with what the one before it left."""
    chains = [[one for one in group if one.depth == 0 and uops[one.sink][0].name == "SINK"] for group in groups]
    chain = max(chains, key=len, default=[])
    if len(chain) < 2:
        raise SystemExit("the program made tinygrad compile no kernel")
    file = TraceFile(uops)
    file.add_step("kernel", chain[0].sink, 0.0, [])
    for one, following in pairwise(chain):
        found = Counter(f"{Path(where[0]).name}:{where[1]}" for _, _, where, _ in one.matches)
        notes = [f"Patterns: {', '.join(f'{where} x{n}' for where, n in found.most_common(5))}."] if found else []
        file.add_step(one.name, following.sink, sum(match[3] for match in one.matches), notes)
    return file.data(COLOURS.sub("", keys[chains.index(chain)].display_name))


def main(program: str, out: str) -> None:
    """Run a program with tinygrad's own recorder on, and write the trace."""
    os.environ["TRACK_MATCH_STATS"] = "2"
    from tinygrad.uop import ops  # pyright: ignore[reportMissingImports]

    runpy.run_path(program, run_name="__main__")
    data = trace_of_kernel(ops.tracked_keys, ops.tracked_ctxs, ops.uop_fields)
    Path(out).write_text(json.dumps(data), encoding="utf-8")
    sys.stdout.flush()
    os._exit(0)  # at the exit, tinygrad would write a file of its own


if __name__ == "__main__":
    main(*sys.argv[1:])
