"""The network of lesson 12 in JAX, which XLA compiles."""

import jax
import jax.numpy as jnp

WIDTH, HIDDEN, CLASSES = 64, 256, 10


def norm(x):
    """A LayerNorm without weights."""
    mean = x.mean(-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(x.var(-1, keepdims=True) + 1e-5)


def network(x, up, down, head):
    with jax.named_scope("norm"):
        hidden = norm(x)
    with jax.named_scope("up"):
        hidden = hidden @ up
    with jax.named_scope("gelu"):
        hidden = jax.nn.gelu(hidden, approximate=False)
    with jax.named_scope("down"):
        hidden = x + hidden @ down
    with jax.named_scope("last"):
        hidden = norm(hidden)
    with jax.named_scope("head"):
        return jax.nn.softmax(hidden @ head)


def example():
    """The network and its arguments."""
    shapes = [(32, WIDTH), (WIDTH, HIDDEN), (HIDDEN, WIDTH), (WIDTH, CLASSES)]
    return network, tuple(jnp.ones(shape) for shape in shapes)
