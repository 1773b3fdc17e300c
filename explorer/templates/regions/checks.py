"""Checks of the arguments of region graph algorithms."""

from explorer.errors import DataTypeError, ShapeError, ValueRangeError
from explorer.symbolic.checks import is_integer

ImageShape = tuple[int, int, int]


def check_at_least_one(**given: int) -> None:
    """Raises: DataTypeError, ValueRangeError unless every number is an integer of at least one."""
    for name, value in given.items():
        if not is_integer(value):
            raise DataTypeError(f"{name} must be an integer; found {value!r}")
        if value < 1:
            raise ValueRangeError(f"{name} must be at least 1; found {value}")


def check_image_shape(shape: ImageShape) -> None:
    """Raises: ShapeError unless this is (channels, height, width), each at least one."""
    given = tuple(shape) if isinstance(shape, tuple | list) else ()  # pyright: ignore[reportUnnecessaryIsInstance]
    if len(given) != 3 or not all(is_integer(size) and size >= 1 for size in given):
        raise ShapeError(f"an image shape is (channels, height, width), integers of at least 1; found {shape!r}")
