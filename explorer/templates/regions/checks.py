"""Checks of the arguments of region graph algorithms."""

from explorer.errors import ShapeError, ValueRangeError

ImageShape = tuple[int, int, int]


def check_at_least_one(**given: int) -> None:
    """Raises: ValueRangeError unless every number is at least one."""
    for name, value in given.items():
        if value < 1:
            raise ValueRangeError(f"{name} must be at least 1; found {value}")


def check_image_shape(shape: ImageShape) -> None:
    """Raises: ShapeError unless this is (channels, height, width), each at least one."""
    if len(shape) != 3 or any(size < 1 for size in shape):
        raise ShapeError(f"an image shape is (channels, height, width), each at least 1; found {tuple(shape)}")
