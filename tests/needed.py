"""Skips for tests with missing requirements: they say how to install them, and fail on CI, which has them all."""

import os
from typing import NoReturn

import pytest


def is_missing(what: str, how: str) -> NoReturn:
    """Skip the test, or fail it if the environment variable CI is set."""
    reason = f"needs {what}: {how}"
    if os.environ.get("CI"):
        pytest.fail(f"CI must not skip this test; it {reason}", pytrace=False)
    pytest.skip(reason)
