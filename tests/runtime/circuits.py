"""What tests of the native backend need."""

import os

import pytest

from explorer.errors import LoweringError
from explorer.runtime.native.build import find_compiler


def _has_compiler() -> bool:
    try:
        find_compiler()
    except LoweringError:
        return False
    return True


has_compiler = pytest.mark.skipif(
    not _has_compiler() and not os.environ.get("CI"),
    reason="needs a C++ compiler: apt-get install g++ (or set CXX to the path of one)",
)
"""For tests that compile the kernels; on CI, which has a compiler, they fail without one."""
