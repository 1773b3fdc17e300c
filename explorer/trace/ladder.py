"""The levels of the ladder: how a trace of each one speaks of its nodes, and what it can do.

A new level is one declaration here. Views, commands and measurements read these fields and never ask which level it is.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from explorer.errors import unknown_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """A level of the ladder."""

    name: str
    node: str
    """The noun for anything that is drawn."""
    noun: str
    """The noun for what computes; `count_stat` counts these."""
    count_stat: str
    begins: str
    """What happened to the nodes of the first step."""
    origins: str
    """What the nodes of the first step are to all later ones."""
    entries: str
    """What the entries of a pattern list."""
    rerun: str
    """How to get a trace with tensors from one that was loaded."""
    no_folds: str
    """Why a trace may have no folds."""
    has_folds: bool
    has_batches: bool
    """Whether inputs may have any number of rows; else shapes are fixed and a trace has its own examples."""
    has_circuit: bool
    """Whether a symbolic circuit and `CompilerOptions` are behind it; else a module and a pipeline of passes."""
    declines_matches: bool
    """Whether a rule that declines has found its pattern; else what it declines is part of what it looks for."""
    stage_depth: int
    """How many stages of a path are one part of the compilation, worth a time of its own."""


COMPILED = Level(
    name="compiled",
    node="layer",
    noun="layer",
    count_stat="layers",
    begins="compiled",
    origins="symbolic layers",
    entries="expected layers",
    rerun="explorer.rerun(trace) compiles it again",
    no_folds="record with fold=True",
    has_folds=True,
    has_batches=True,
    has_circuit=True,
    declines_matches=True,
    stage_depth=2,
)
OPERATORS = Level(
    name="tensor",
    node="node",
    noun="operator",
    count_stat="operators",
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
)
LEVELS: Mapping[str, Level] = {level.name: level for level in (COMPILED, OPERATORS)}


def level_of(options: Mapping[str, Any]) -> Level:
    """The level that the options of a trace name. Raises: UnknownNameError for an unknown one."""
    name = options.get("level", COMPILED.name)
    if name not in LEVELS:
        raise unknown_name("level", name, list(LEVELS))
    return LEVELS[name]
