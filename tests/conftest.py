"""Settings of the processes that run tests, the same random numbers in each run, and tests that share a worker."""

import gc
import os
import random
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests import quick_exports, quick_seeds
from tests.chromium import browser, browsing, page, resize, tab  # noqa: F401 (fixtures)
from tests.fuzzing import FUZZ_SEED, load_profile

if TYPE_CHECKING:
    from collections.abc import Generator

    from xdist.scheduler.protocol import Scheduling

load_profile()

# Settings of a shell, a terminal or a CI system must not decide a test: the width and colours of printed text,
# and whether Ctrl-C is ignored, as in a process that was started in the background. Children inherit both.
OF_TERMINALS = ("COLUMNS", "LINES", "TERMINAL_WIDTH", "FORCE_COLOR", "CLICOLOR_FORCE", "NO_COLOR", "PY_COLORS")
for name in (*OF_TERMINALS, "GITHUB_ACTIONS"):
    os.environ.pop(name, None)
signal.signal(signal.SIGINT, signal.default_int_handler)

# There are more workers than cores, so more threads would wait for each other. Set before torch is loaded, for servers
# that tests start too.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Without bytecode files, each worker and each process that a test starts would compile all sources again.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# jsonschema imports it to check internationalized addresses, which no notebook has; its 38 grammars take 1.5 seconds.
sys.modules.setdefault("rfc3987_syntax", None)  # pyright: ignore[reportArgumentType]

# PyTorch allocates many small objects; looking for cycles among a million of them took an eighth of the time.
gc.set_threshold(20_000, 10, 10)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> "Scheduling | None":
    """Keep groups of tests together, unless `--dist worksteal` asks for any order, as `make cuda` does."""
    if config.option.dist == "worksteal":
        return None
    from tests.scheduling import ByGroup

    config.option.loadscopereorder = False  # the order of the items is the order of the groups
    return ByGroup(config, log)  # pyright: ignore[reportArgumentType] (xdist does not export the type of its log)


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> "Generator[None, list[pytest.Collector], list[pytest.Collector]]":
    """Look for no docstring examples in the tests."""
    collectors = yield
    return [collector for collector in collectors if type(collector) is pytest.Module]  # no subclass


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> "Generator[None, pytest.CollectReport, pytest.CollectReport]":
    """Let each worker begin with other files: all read the bytecode that the first one writes, in a new clone."""
    report = yield
    worker = getattr(collector.config, "workerinput", None)
    if worker is not None and collector.path == Path(__file__).parent:
        count = len(report.result)
        start = count * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
        report.result = report.result[start:] + report.result[:start]
    return report


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """In a worker, move the groups of tests that take longest to the front; the order is the same in all workers."""
    if hasattr(config, "workerinput"):
        from tests.scheduling import position_of

        items.sort(key=lambda item: (position_of(item.nodeid), item.path))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Every test draws the same random numbers, whichever tests ran before it, and exports quickly."""
    quick_seeds.install()
    random.seed(seed := FUZZ_SEED or 0)
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed(seed)
    if "torch" in sys.modules:
        sys.modules["torch"].manual_seed(seed)
    quick_exports.install()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> "Generator[None]":
    """Fail a test that leaves Ctrl-C to something else than Python, as a server of Panel in the main thread does."""
    yield
    if (left := signal.signal(signal.SIGINT, signal.default_int_handler)) is not signal.default_int_handler:
        pytest.fail(f"{item.nodeid} or a fixture leaves another handler of Ctrl-C: {left}")


MANY_OBJECTS = 100_000


@pytest.fixture(autouse=True, scope="module")
def heap_is_frozen() -> None:
    """Imported objects live as long as the process, so no search for cycles needs to look at them."""
    if len(gc.get_objects(generation=2)) > MANY_OBJECTS:
        gc.collect()
        gc.freeze()
