"""Which examples random tests try: the same in every run, or fresh ones under `make fuzz`.

The environment variable FUZZ_SEED switches to fresh examples. `make fuzz` sets it to a new number in each round, the
same one in all workers, because their tests must have the same names.
"""

import os
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants

FUZZ_SEED = int(os.environ["FUZZ_SEED"]) if os.environ.get("FUZZ_SEED") else None
"""The seed of fresh examples; None where every run tries the same ones."""

DATABASE = Path(__file__).parents[1] / ".hypothesis" / "examples"
"""Where failing examples are kept while fuzzing: the next round tries them first."""

RUN_SHARE = 1 / 5
"""How many of its examples a test tries where they are the same in every run: more of them would find nothing new."""

Test = TypeVar("Test", bound=Callable[..., object])


def load_profile() -> None:
    """Choose the settings of hypothesis: call it before any test is imported, since `@settings` reads them there.

    Neither profile looks at a clock (`deadline`, `too_slow`), for a verdict must not depend on what else is running.
    """
    common = settings(
        deadline=None, max_examples=_share(50), suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
    )
    settings.register_profile("same examples", common, derandomize=True, database=None)
    database = DirectoryBasedExampleDatabase(DATABASE)
    settings.register_profile("fresh examples", common, derandomize=False, database=database, print_blob=True)
    settings.load_profile("same examples" if FUZZ_SEED is None else "fresh examples")
    if FUZZ_SEED is None:
        # It would also try constants of the modules imported so far, which depend on the tests that ran before.
        providers._get_local_constants = Constants


def examples(count: int) -> settings:
    """Let hypothesis try `count` examples in a round of `make fuzz`, and `RUN_SHARE` of them otherwise."""
    return settings(max_examples=_share(count))


def _share(count: int) -> int:
    return count if FUZZ_SEED is not None else max(2, round(RUN_SHARE * count))


def seeded(count: int, *, also: Sequence[int] = ()) -> Callable[[Test], Test]:
    """Run a test for `count` fresh values of `seed`, or for `RUN_SHARE` as many, from 0 on; and for those in `also`.

    A seed that `make fuzz` found to fail goes into `also`: that is the regression test.
    """
    first = 0 if FUZZ_SEED is None else FUZZ_SEED
    seeds = dict.fromkeys([*also, *range(first, first + _share(count))])

    def decorate(test: Test) -> Test:
        return pytest.mark.seeded(pytest.mark.parametrize("seed", list(seeds))(test))

    return decorate


def covering(*axes: Sequence[Any], strength: int = 2) -> list[Any]:
    """Return all combinations of the values of several parameters, most of them only for `make fuzz`.

    Every run tries each pair of values of two parameters, or with a strength of 1 each value of each parameter: then a
    value may be tried with only one of two that matter to it.
    """
    columns = list(combinations(range(len(axes)), min(strength, len(axes))))
    everything = list(product(*(range(len(axis)) for axis in axes)))
    parts = {row: {(of, tuple(row[column] for column in of)) for of in columns} for row in everything}
    missing = set().union(*parts.values())
    uses = Counter[tuple[int, int]]()
    tried = set[tuple[int, ...]]()
    while missing:
        row = max(everything, key=lambda row: (len(parts[row] & missing), -sum(map(uses.__getitem__, enumerate(row)))))
        tried.add(row)
        missing -= parts[row]
        uses.update(enumerate(row))
    return [
        pytest.param(
            *(axis[number] for axis, number in zip(axes, row, strict=True)),
            marks=() if row in tried else pytest.mark.fuzz,
        )
        for row in everything
    ]
