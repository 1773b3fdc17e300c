"""What a compilation failed of, in one line: the user's line, and the innermost error behind those of Dynamo."""

import logging
import sysconfig
import threading
import traceback
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from pathlib import Path

import torch

from explorer.errors import CircuitError, UserCodeError

LOGGER = "torch._subclasses.fake_tensor"
"""The logger that repeats an error, with its traceback, before it is raised."""
STDLIB = sysconfig.get_paths()["stdlib"]
FOREIGN = (str(Path(torch.__file__).parent), str(Path(__file__).parents[2]), "<")
"""Beginnings of the names of files that are not the user's, nor of the standard library."""


@contextmanager
def one_error(title: str) -> Generator[None]:
    """Raise what the program or its compilation raises as one error, with the original as its cause.

    Raises: UserCodeError; errors of this package as they are.
    """
    thread = threading.get_ident()

    def is_of_others(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger = logging.getLogger(LOGGER)
    logger.addFilter(is_of_others)
    try:
        yield
    except (CircuitError, MemoryError):
        raise
    except Exception as error:
        *_, inner = _causes(error)
        reason = next((line.strip() for line in str(inner).splitlines() if line.strip()), "")
        said = f"{title} failed{_user_line(error)}: {type(inner).__name__}{reason and f': {reason}'}"
        raise UserCodeError(f"{said} (the cause of this error says more)") from error
    finally:
        logger.removeFilter(is_of_others)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error, and those that it is about if Dynamo raised it: its own words are long."""
    yield error
    if type(error).__module__.startswith("torch._dynamo"):
        context = error.__context__ if type(error.__context__).__module__.startswith("torch._dynamo") else None
        inner = getattr(error, "inner_exception", None) or error.__cause__ or context
        if inner is not None:
            yield from _causes(inner)


def _user_line(error: BaseException) -> str:
    """The innermost line of the user's program: where Dynamo captured an operator, or of a traceback."""
    from torch._inductor.runtime.cache_dir_utils import cache_dir

    foreign = (*FOREIGN, cache_dir())
    for cause in _causes(error):
        for stack in (getattr(cause, "real_stack", None) or (), traceback.extract_tb(cause.__traceback__)):
            for frame in reversed(stack):
                of_python = frame.filename.startswith(STDLIB) and "site-packages" not in frame.filename
                if not frame.filename.startswith(foreign) and not of_python:
                    at = f" at {Path(frame.filename).name}:{frame.lineno}"
                    return at + (f", in `{frame.line}`" if frame.line else "")
    return ""
