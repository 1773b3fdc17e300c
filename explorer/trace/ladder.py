"""The levels of the ladder: the words for their nodes, and what their traces support.

A new level is one declaration here. Views, commands and measurements read these fields; they never compare levels.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from explorer.errors import look_up
from explorer.passes import COMPILED, KERNELS, PROGRAM, TENSOR, WATCHED


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of the ladder."""

    name: str
    node: str
    """The noun for a node of the graph."""
    noun: str
    """The noun for a node that computes; `count_stat` names the statistic that counts these."""
    count_stat: str
    sizes: tuple[str, ...]
    """The headings of the sizes of a state in a table of steps."""
    uncalled: str = ""
    """The noun for a node that is only read, where these are counted apart from the nodes that compute."""
    size_stats: tuple[str, ...] = ()
    """The statistics that are these sizes; none: the snapshot's."""
    begins: str
    """The verb for the first step."""
    origins: str
    """The label of the nodes of the first step in a lineage."""
    entries: str
    """The label of the entries of a pattern."""
    rerun: str
    """Advice to get an executable trace from a loaded one."""
    no_folds: str
    """The reason that a trace has no folds, or advice to get them."""
    has_folds: bool
    has_batches: bool
    """Whether inputs have any number of rows; otherwise shapes are fixed and a trace has example inputs."""
    has_circuit: bool
    """Whether a symbolic circuit was compiled with `CompilerOptions`; otherwise a module by a pipeline of passes."""
    declines_matches: bool
    """Whether a rule that declines has matched; otherwise declining is part of its matching."""
    tries_pairs: bool = False
    """Whether a round of its compiler tries pairs of nodes; several pairs may become one node."""
    stage_depth: int
    """Number of stages of a path that are timed as one part of the compilation."""
    page_bytes_per_node: int
    """Size of a page without Python per node and picture, measured with digits, hmm, mnist and poon-domingos.

    Layers and kernel calls are drawn as cells, many in a box, and operators and instructions as a box each;
    instructions have buffers, too.
    """
    plate_fields: tuple[str, ...] = ("results",)
    """Fields of `config` or `about` that nodes of a plate share, at levels where no circuit is compiled."""
    has_part_times: bool = False
    """Whether its layers, or kernel calls, can be timed one by one at every step."""
    has_own_memory: bool = False
    """Whether its modules allocate memory outside of PyTorch."""
    listing: str = "program"
    """The language of the text of a state; empty for levels without one."""
    most_alive: str = "peak {}"
    """The words for the most bytes that are alive at once."""
    buffer: str = "buffer"
    """The noun for what is kept in memory."""
    is_memory_modelled: bool = False
    """Whether the places of what is kept are never known, so that a drawing puts it where there is room."""
    grouping: Literal["plates", "score"] = "plates"
    """The grouping in which a trace opens."""
    gains: tuple[str, ...] = ()
    """The statistics with changes that a sentence about a step states."""


LEVELS: Mapping[str, Level] = {
    level.name: level
    for level in (
        Level(
            name=COMPILED,
            node="layer",
            noun="layer",
            count_stat="layers",
            sizes=("calls", "layers"),
            begins="compiled",
            origins="symbolic layers",
            entries="expected layers",
            rerun="explorer.rerun(trace) compiles it again",
            no_folds="record with fold=True",
            has_folds=True,
            has_batches=True,
            has_part_times=True,
            has_circuit=True,
            declines_matches=True,
            stage_depth=2,
            page_bytes_per_node=40,
            gains=("copied_bytes",),
        ),
        Level(
            name=TENSOR,
            node="node",
            noun="operator",
            count_stat="operators",
            sizes=("nodes", "slices"),
            begins="imported",
            origins="imported as",
            entries="tried at",
            rerun="explorer.record(module, ...) records the module again",
            no_folds="operators are not folded",
            has_folds=False,
            has_batches=False,
            has_circuit=False,
            declines_matches=False,
            stage_depth=1,
            page_bytes_per_node=120,
        ),
        Level(
            name=PROGRAM,
            node="instruction",
            noun="instruction",
            count_stat="instructions",
            sizes=("instructions", "buffers", "peak bytes"),
            begins="lowered",
            origins="lowered from",
            entries="tried at",
            rerun="explorer.record(module, ..., level='program') records the module again",
            no_folds="instructions are not folded",
            has_folds=False,
            has_batches=False,
            has_circuit=False,
            declines_matches=False,
            stage_depth=1,
            page_bytes_per_node=150,
        ),
        Level(
            name=KERNELS,
            node="kernel call",
            noun="kernel call",
            uncalled="table",
            count_stat="calls",
            sizes=("kernel calls", "tables", "peak bytes"),
            size_stats=("calls", "tables", "peak_bytes"),
            begins="lowered",
            origins="lowered as",
            entries="tried at",
            rerun="explorer.record(circuit, level='kernels') records the circuit again",
            no_folds="kernel calls are not folded: each is of one fold",
            has_folds=False,
            has_batches=False,
            has_circuit=False,
            declines_matches=False,
            stage_depth=1,
            page_bytes_per_node=40,
            plate_fields=("results", "module", "terms", "factors"),
            has_part_times=True,
            has_own_memory=True,
            listing="kernel calls",
            most_alive="at most {} alive",
            buffer="value",
            gains=("flops", "read_bytes"),
        ),
        Level(
            name=WATCHED,
            node="call",
            noun="call",
            uncalled="view",
            count_stat="calls",
            sizes=("calls", "moved bytes", "peak bytes"),
            size_stats=("calls", "moved_bytes", "peak_bytes"),
            begins="captured",
            tries_pairs=True,
            origins="captured as",
            entries="tried at",
            rerun="explorer.watch(module, ...) compiles the module again",
            no_folds="calls of another compiler are not folded",
            has_folds=False,
            has_batches=False,
            has_circuit=False,
            declines_matches=False,
            stage_depth=1,
            page_bytes_per_node=190,
            listing="code",
            most_alive="at most {} alive",
            buffer="value",
            is_memory_modelled=True,
            grouping="score",
            gains=("moved_bytes",),
        ),
    )
}


def level_of(options: Mapping[str, Any]) -> Level:
    """The level that the options of a trace name. Raises: UnknownNameError for an unknown one."""
    return look_up("level", options.get("level", COMPILED), LEVELS)
