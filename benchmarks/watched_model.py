"""One model, compiled with and without watching: is all the same, and is the trace true? Runs in a process of its own.

`python -m benchmarks.watched_model NAME FILE.json [--build] [--device cuda]` writes what was found. What Inductor
does without being watched is heard here by other means than those of the adapter.
"""

import gc
import json
import logging
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any
from unittest.mock import patch

import torch
from torch._inductor import config
from torch._inductor.async_compile import AsyncCompile
from torch._inductor.graph import GraphLowering
from torch._inductor.scheduler import Scheduler
from torch.utils import _pytree as pytree

import explorer
from benchmarks.watch_models import KINDS, STAGES, WatchedModel, WatchResult, get_model
from explorer.timings import CPU, CUDA
from explorer.trace import NodeRecord, Step, Trace, Verdict, pairs_of
from explorer.views.index import TraceIndex
from explorer.views.score.calls import calls_at
from explorer.views.score.seams import Seam, seams_at

DEFINITION = re.compile(r"^(\w+) = async_compile\.(\w+)\(", re.MULTILINE)
"""A function of a program, and its language."""
LOGGER = "torch._inductor.scheduler.__fusion"
Parts = frozenset[str]
"""The scheduler nodes that a kernel was made of."""


@dataclass(slots=True)
class GraphFacts:
    """What Inductor itself told of a graph: its final kernels, and the pairs that it was asked about, in order."""

    kernels: list[Parts] = field(default_factory=list[Parts])
    answers: dict[frozenset[Parts], tuple[bool, str]] = field(default_factory=dict[frozenset[Parts], tuple[bool, str]])
    """For each pair the last answer, and the reason that was logged with it, or behind it: for a cycle."""


@dataclass(slots=True)
class PlainFacts:
    """What was heard of a program that was compiled without watching: a code and facts for each graph."""

    codes: list[str] = field(default_factory=list[str])
    graphs: list[GraphFacts] = field(default_factory=list[GraphFacts])
    outputs: tuple[torch.Tensor, ...] = ()
    seconds: float = 0.0


def measure_watched(model: WatchedModel, build: bool = False, device: str = CPU) -> WatchResult:
    """Compile a model three times: heard, watched and plain; the last two are timed. C++ is built with `build` only."""
    torch.manual_seed(0)
    module, inputs = model.make()
    module.to(device).train(model.is_training)
    inputs = pytree.tree_map_only(torch.Tensor, lambda one: one.to(device), inputs)
    building = nullcontext() if build else patch.object(AsyncCompile, "cpp_pybinding", lambda *_: lambda *_: None)

    def run(program: Callable[..., Any]) -> tuple[torch.Tensor, ...]:
        torch.manual_seed(0)
        with nullcontext() if model.is_training else torch.no_grad():
            outputs = [one for one in pytree.tree_leaves(program(*inputs)) if isinstance(one, torch.Tensor)]
            if model.is_training:
                torch.stack([one.float().sum() for one in outputs if one.requires_grad]).sum().backward()
        gradients = [one.grad for one in module.parameters() if one.grad is not None]
        module.zero_grad()
        return tuple(one.detach() for one in (*outputs, *gradients))

    def plain() -> tuple[torch.Tensor, ...]:
        torch._dynamo.reset()
        return run(torch.compile(module))

    run(module)  # some modules keep on their first call what later ones read
    with building, TemporaryDirectory() as folder:
        with hearing() as heard:
            heard.outputs = plain()
        with collecting() as watched_codes:
            torch._dynamo.reset()
            gc.collect()
            started = process_time()
            with explorer.watching() as traces:
                outputs = run(torch.compile(module))
            watched_seconds = process_time() - started
        with collecting() as plain_codes:
            torch._dynamo.reset()
            gc.collect()
            started = process_time()
            plain()
            plain_seconds = process_time() - started
        torch._dynamo.reset()
        files = [Path(folder, f"{number}.trace.json.gz") for number in range(len(traces))]
        for file, trace in zip(files, traces, strict=True):
            trace.save(file)
        loaded = [Trace.load(file) for file in files]
        file_bytes = sum(file.stat().st_size for file in files)
    notes = (note for trace in loaded for step in trace.steps for note in step.notes)
    wrong = [note for note in notes if not note.startswith("Saved for backward")]
    if _comparable(heard.codes) != _comparable(plain_codes):
        wrong.append("without watching, Inductor writes other code in another run")
    wrong += code_missing(watched_codes, loaded)
    seams: Counter[str] = Counter()
    fusions = [fusion for trace in loaded for fusion in fusions_of(trace)]
    same_kernels = len(fusions) == len(heard.graphs)
    for fusion, facts in zip(fusions, heard.graphs, strict=False):
        same_kernels = same_kernels and set(fusion.groups.values()) == set(facts.kernels)
        found, strange = judge_seams(fusion, facts)
        seams.update(found)
        wrong += strange
    return WatchResult(
        model.name,
        model.family,
        len(loaded),
        dict(calls_of(loaded)),
        _comparable(heard.codes) == _comparable(watched_codes),
        all(map(torch.equal, heard.outputs, outputs)) if build else None,
        sum(len(facts.kernels) for facts in heard.graphs),
        same_kernels,
        dict(seams),
        wrong,
        plain_seconds,
        watched_seconds,
        file_bytes,
    )


# ---------------------------------------------------------------------- what Inductor does


@contextmanager
def collecting() -> Generator[list[str]]:
    """Collect the code of each graph that is compiled inside."""
    codes: list[str] = []
    with patch.object(GraphLowering, "save_output_code", codes.append):
        yield codes


@contextmanager
def hearing() -> Generator[PlainFacts]:
    """Hear what Inductor decides, from its log, its questions and the last list of nodes; nothing of the adapter."""
    heard = PlainFacts()
    asked: dict[frozenset[Parts], tuple[bool, str]] = {}
    original = Scheduler.can_fuse

    def can_fuse(scheduler: Any, one: Any, other: Any, *args: Any, **kwargs: Any) -> bool:
        pair = frozenset((parts_of(one), parts_of(other)))
        asked.pop(pair, None)
        answer = bool(original(scheduler, one, other, *args, **kwargs))
        if answer:
            asked[pair] = (True, "")
        asked.setdefault(pair, (False, ""))
        return answer

    def finish(nodes: list[Any]) -> list[Any]:
        heard.graphs.append(GraphFacts([parts_of(node) for node in nodes], dict(asked)))
        asked.clear()
        return nodes

    class Log(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            why: Any = record.msg
            if type(why).__name__ == "WhyNoFuse":
                pair = frozenset(frozenset(name.split("_")) for name in (why.name1, why.name2))
                asked[pair] = (False, str(why.reason % why.args if why.args else why.reason))

    logger, handler = logging.getLogger(LOGGER), Log()
    level, propagate = logger.level, logger.propagate
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    logger.addHandler(handler)
    try:
        with (
            patch.object(Scheduler, "can_fuse", can_fuse),
            config.patch(_post_fusion_custom_pass=finish),
            collecting() as heard.codes,
        ):
            yield heard
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)
        logger.propagate = propagate


def parts_of(node: Any) -> Parts:
    """The names of the nodes that a scheduler node was made of."""
    return frozenset(part.get_name() for part in node.get_nodes())


def code_missing(codes: Sequence[str], traces: Sequence[Trace]) -> list[str]:
    """List the functions that programs of Inductor define, but that no call of a trace has beside it, with its code."""
    calls = [node.about for trace in traces for node in trace.graph_at(-1).nodes.values()]
    shown = {str(about.get("function")): str(about.get("code", "")) for about in calls}
    defined = dict.fromkeys(found for code in codes for found in DEFINITION.findall(code))
    has_code = {
        name: shown.get(name) and (language != "triton" or "@triton" in shown[name]) for name, language in defined
    }
    return [f"the code of {name} is beside no call" for name, has in has_code.items() if not has]


def _comparable(codes: Sequence[str]) -> list[str]:
    """Codes without their first line, which counts compilations."""
    return [code.partition("\n")[2] for code in codes]


# ---------------------------------------------------------------------- what the trace says


@dataclass(frozen=True, slots=True)
class Fusion:
    """The fusion of a graph as a trace tells it: its last step, and the parts of each call that is left, by number."""

    trace: Trace
    last: int
    groups: Mapping[int, Parts]


def fusions_of(trace: Trace) -> Iterator[Fusion]:
    """Replay the fused pairs of a trace, from the calls behind lowering; nothing else is used.

    A training step has two graphs: its forward part, and behind it its backward part. Raises: ValueError if the pairs
    of a step do not lead to what it merged.
    """
    lowered = [step.index for step in trace.steps if step.pass_name == "lower"]
    for begin, end in zip(lowered, [*lowered[1:], len(trace.steps)], strict=True):
        nodes = trace.graph_at(begin).nodes
        added = [number for rewrite in trace.steps[begin].applied for number in rewrite.added]
        groups = {number: frozenset((_name_of(nodes[number]),)) for number in added}
        last = begin
        for step in trace.steps[begin:end]:
            if step.pass_name == "fuse":
                last = step.index
                _fuse(step, groups)
        yield Fusion(trace, last, groups)


def _name_of(record: NodeRecord) -> str:
    """The name of a scheduler node; in a training step, that of its part is before it."""
    return str(record.about["name"]).rpartition("/")[2]


def _fuse(step: Step, groups: dict[int, Parts]) -> None:
    """Join the groups that the fused pairs of a round lead to."""
    joined = {number: {number} for number in groups}
    for pair in pairs_of(step):
        if pair.verdict is Verdict.FUSED:
            both = joined[pair.one] | joined[pair.other]
            joined.update(dict.fromkeys(both, both))
    for rewrite in step.applied:
        members = joined[rewrite.removed[0]]
        if members != set(rewrite.removed):
            raise ValueError(f"step {step.index}: the pairs lead to {members}, and not to {rewrite.removed}")
        groups[rewrite.added[0]] = frozenset[str]().union(*(groups.pop(number) for number in members))


def judge_seams(fusion: Fusion, facts: GraphFacts) -> tuple[Counter[str], list[str]]:
    """Count the seams behind the last round of fusion by kind, and list those that Inductor itself contradicts."""
    index = TraceIndex(fusion.trace)
    order = [call.node for call in calls_at(index, fusion.last)]
    found: Counter[str] = Counter()
    wrong: list[str] = []
    seen: dict[frozenset[Parts], Seam] = {}
    for seam in seams_at(index, fusion.last):
        if order[seam.one] not in fusion.groups or order[seam.other] not in fusion.groups:
            continue  # of the other part of a training step
        pair = frozenset((fusion.groups[order[seam.one]], fusion.groups[order[seam.other]]))
        if pair in seen:
            wrong.append(f"two seams between {_named(pair)}: {seen[pair].text}; {seam.text}")
        seen[pair] = seam
        found[KINDS[seam.kind]] += 1
        if seam.kind == "untried" and any(_covers(known, pair) for known in facts.answers):
            wrong.append(f"never tried, but Inductor was asked about {_named(pair)}")
    final = set(facts.kernels)
    for pair, (fits, reason) in facts.answers.items():
        if not pair <= final or len(pair) != 2:
            continue
        seam = seen.get(pair)
        kind, words = (seam.kind, seam.words) if seam else ("no seam", "")
        expected = ("put-off",) if fits else ("refused", "put-off") if reason else ("silent",)
        if kind in ("next", "later"):  # what is called as one function is shown as that
            continue
        if kind not in expected or (kind == "refused" and words != reason):
            wrong.append(f"Inductor of {_named(pair)}: {fits}, {reason!r}; the seam: {kind}, {words!r}")
    return found, wrong


def _covers(known: frozenset[Parts], pair: frozenset[Parts]) -> bool:
    """Whether a question was about a part of each of two kernels."""
    one, other = pair if len(pair) == 2 else (*pair, *pair)
    first, second = known if len(known) == 2 else (*known, *known)
    return (first <= one and second <= other) or (first <= other and second <= one)


def _named(pair: frozenset[Parts]) -> str:
    return " | ".join(sorted("_".join(sorted(part)) for part in pair))


def calls_of(traces: Sequence[Trace]) -> Mapping[str, int]:
    """Calls at capture, behind lowering, behind the last round and at the end, over all graphs."""
    found: Counter[str] = Counter()
    for trace in traces:
        last = [step.index for step in trace.steps if step.pass_name in ("lower", "fuse")]
        at = (0, last[0], last[-1], -1) if last else (0,)
        found.update({stage: trace.stats(step)["calls"] for stage, step in zip(STAGES, at, strict=False)})
    return found


def warm_up() -> None:
    """Compile something small with and without watching: the first time imports modules."""
    linear, x = torch.nn.Linear(2, 2), torch.ones(2, 2)
    with patch.object(AsyncCompile, "cpp_pybinding", lambda *_: lambda *_: None), torch.no_grad():
        torch.compile(linear)(x)
        torch._dynamo.reset()
        with explorer.watching():
            torch.compile(linear)(x)


def main(name: str, file: str, build: bool, device: str) -> None:
    """Measure a model, and write the result."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    with config.patch(compile_threads=1, force_disable_caches=not build):
        warm_up()
        found = measure_watched(get_model(name), build, device)
    Path(file).write_text(json.dumps(asdict(found)), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], "--build" in sys.argv[3:], CUDA if CUDA in sys.argv[3:] else CPU)
