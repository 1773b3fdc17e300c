"""What tests of the native backend need."""

import pytest

from explorer.errors import LoweringError
from explorer.runtime.native.build import find_compiler


def _has_compiler() -> bool:
    try:
        find_compiler()
    except LoweringError:
        return False
    return True


has_compiler = pytest.mark.skipif(not _has_compiler(), reason="there is no C++ compiler")
