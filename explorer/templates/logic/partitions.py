"""Partitions: shows fast that the primes of a decision node exclude each other, as those of an SDD do by definition."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from random import Random

from explorer.templates.logic.nodes import LogicKind, LogicNode

PRIME = 2**61 - 1
"""The numbers are those modulo a prime: a sum that is not 1 as a polynomial is 1 once in 2^61 / variables times."""


def partitioned(nodes: Sequence[LogicNode], num_variables: int) -> Iterator[int]:
    """The disjunctions of pairs (prime and sub) of which exactly one prime is true at each assignment.

    The nodes must be decomposable. Each variable is true with a random probability, so that of a node, with sums for
    disjunctions, is a polynomial. Those of the primes add up to 1 at a random point only if they do everywhere: then
    exactly one is true. This takes one pass, where comparing all pairs of primes may take too long.
    Source: Schwartz 1980, Fast probabilistic algorithms for verification of polynomial identities.
    """
    digest = sha256()
    for node in nodes:
        digest.update(repr(node).encode())
    random = Random(digest.digest())  # no file can be made to fit its own point
    chances = [random.randrange(PRIME) for _ in range(num_variables)]
    found: list[int] = []
    for number, node in enumerate(nodes):
        if node.kind is LogicKind.LITERAL:
            chance = chances[abs(node.literal) - 1]
            found.append(chance if node.literal > 0 else 1 - chance)
        elif node.kind is LogicKind.OR:
            found.append(sum(found[source] for source in node.inputs) % PRIME)
            pairs = [nodes[source] for source in node.inputs]
            are_pairs = all(pair.kind is LogicKind.AND and len(pair.inputs) == 2 for pair in pairs)
            if are_pairs and sum(found[pair.inputs[0]] for pair in pairs) % PRIME == 1:
                yield number
        else:
            total = int(node.kind is not LogicKind.FALSE)
            for source in node.inputs:
                total = total * found[source] % PRIME
            found.append(total)
