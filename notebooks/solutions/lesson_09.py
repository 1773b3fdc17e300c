"""Solutions of lesson 9, buffers."""


def solution_1() -> dict[int, tuple[int, int]]:
    """The instruction that writes a buffer, and the last one that reads it."""
    return {2: (10, 15), 3: (11, 12), 4: (12, 16), 5: (13, 14), 6: (14, 15), 7: (15, 16)}


def solution_2() -> set[int]:
    """The exponential over the product that only it reads; the product of numbers over either of its inputs."""
    return {12, 15}


def solution_3() -> dict[int, int]:
    """At the fullest moment 4, 5 and 6 are alive: 1,280 bytes. The others lie where 6 will be."""
    return {2: 0, 3: 256, 4: 768, 5: 1024, 6: 0}
