"""What a test needs and this machine does not have: a skip that says how to get it; on CI, which has all, a failure."""

import os
from typing import NoReturn

import pytest


def is_missing(what: str, how: str) -> NoReturn:
    """Skip the test, or fail it where the environment sets CI."""
    reason = f"needs {what}: {how}"
    if os.environ.get("CI"):
        pytest.fail(f"CI must not skip this test; it {reason}", pytrace=False)
    pytest.skip(reason)
