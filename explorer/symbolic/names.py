"""Names that occur once: a second use of one is numbered."""

from collections.abc import Container


def unused_name(wanted: str, taken: Container[str]) -> str:
    """Return a name, or the first of `NAME/2`, `NAME/3` ... that is not taken.

    >>> unused_name("12.weight", ()), unused_name("12.weight", ("12.weight", "12.weight/2"))
    ('12.weight', '12.weight/3')
    """
    name, count = wanted, 2
    while name in taken:
        name, count = f"{wanted}/{count}", count + 1
    return name
