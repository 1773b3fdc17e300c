"""Which tests run in one worker: those that share something expensive, such as an exported model or a browser."""

from xdist.scheduler import LoadScopeScheduling

TOGETHER: dict[str, tuple[str, ...]] = {
    "Chromium and the server of the dashboard": (
        "tests/browser/test_dashboard",
        "tests/browser/test_foreign_pages.py",
        "tests/browser/test_front_page.py",
        "tests/browser/test_tensor_level.py",
        "tests/browser/test_many_readers.py",
    ),
    "Chromium": ("tests/browser/", "tests/widgets/"),
    "functions that Inductor builds": ("tests/adapters/", "tests/benchmarks/test_watch.py"),
    "a kernel": ("tests/notebooks/test_notebooks.py",),
    "exported models": (
        "tests/tensor/test_models.py",
        "tests/tensor/test_refused_models.py",
        "tests/tensor/test_rewritten_models.py",
        "tests/tensor/test_nhwc.py",
        "tests/tensor/test_places.py",
        "tests/tensor/quantization/test_raising.py",
    ),
    "processes that train and measure": (
        "tests/app/training/test_distributed.py",
        "tests/benchmarks/test_sweep.py",
    ),
    "Triton's interpreter": ("tests/runtime/test_triton",),
    "compiled circuits": ("tests/backend/test_fullgraph.py",),
    "recorded circuits of the gallery": ("tests/views/",),
    "exported circuits": ("tests/tensor/test_circuits.py", "tests/tensor/test_rewritten_programs.py"),
}
"""Groups of tests that share something expensive, as beginnings of their ids; the groups that take longest start first.

Tests of one file run in one worker anyway; a group of a single file is here only to start early.
"""


def group_of(test: str) -> str:
    """The group of a test id: one of `TOGETHER`, otherwise its file."""
    return next((name for name, starts in TOGETHER.items() if test.startswith(starts)), test.split("::", 1)[0])


def position_of(test: str) -> int:
    """The position of a test's group among the groups to start first."""
    return [*TOGETHER, group_of(test)].index(group_of(test))


class ByGroup(LoadScopeScheduling):
    """A worker takes a whole group at a time, and the next one when it is done."""

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
