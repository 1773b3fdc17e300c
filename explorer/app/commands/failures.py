"""What a command says of an error: arguments of functions as its options, and how much memory was not available."""

import re

OPTIONS = {
    "assume_deterministic=True": "--assume-deterministic",
    "root=(output, class)": "--root OUTPUT,CLASS",
}
"""How an option of a command is called where its value is an argument of a function."""
BYTES = re.compile(r"(?i)(?:tried|unable) to allocate (\d[\d.]*) ?(bytes|[KMGTPE]iB)")
"""The messages of PyTorch and NumPy."""


def in_options(message: str) -> str:
    """A message in terms of the command line.

    >>> in_options("say which one by root=(output, class)")
    'say which one by --root OUTPUT,CLASS'
    """
    for argument, option in OPTIONS.items():
        message = message.replace(argument, option)
    return message


def memory_needed(error: MemoryError | RuntimeError) -> str | None:
    """How much memory could not be allocated; None if the error is a different one.

    >>> memory_needed(RuntimeError("DefaultCPUAllocator: you tried to allocate 240000000000 bytes."))
    '223.5 GiB were asked for at once'
    """
    found = BYTES.search(str(error))
    if found is None:
        return "a large array was asked for" if isinstance(error, MemoryError) else None
    number, unit = float(found[1].rstrip(".")), found[2]
    if unit == "bytes":
        number, unit = number / 2**30, "GiB"
    return f"{number:,.1f} {unit} were asked for at once"
