"""FILE.py:FUNCTION is executed in a process of its own, and compiled by XLA there."""

import sys

import pytest

from explorer.adapters.xla import watch_xla
from explorer.errors import DataTypeError, MissingPackageError, UnknownNameError, UserCodeError
from explorer.packages import is_installed
from explorer.trace import Trace

MODEL = """
import sys

import jax
import jax.numpy as jnp


def forward(x, w):
    with jax.named_scope("head"):
        return jax.nn.softmax(jnp.tanh(x @ w))


def build():
    print("built")
    return forward, (jnp.ones((4, 8)), jnp.ones((8, 6)))


def jitted():
    function = jax.jit(forward)
    arguments = (jnp.ones((4, 8)), jnp.ones((8, 6)))
    function(*arguments)
    return function, arguments


def alone():
    return forward


def fails():
    raise KeyError("no weights")


def invalid():
    return forward, (jnp.ones(3), jnp.ones(4))


def stops():
    sys.exit(3)
"""


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(MODEL)
    return path


def test_an_unknown_file_is_named(tmp_path):
    with pytest.raises(UnknownNameError, match=r"file not found: .*the form is FILE.py:FUNCTION"):
        watch_xla(f"{tmp_path}/nothing.py:build")


def test_without_jax_the_error_says_how_to_install_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "jax", None)
    monkeypatch.setattr("explorer.packages.find_spec", lambda name: None)
    assert not is_installed("jax")
    with pytest.raises(MissingPackageError, match=r"watching XLA needs jax, which is not installed; run: pip install"):
        watch_xla(f"{model}:build")


class TestWithJax:
    @pytest.fixture(autouse=True)
    def needs_jax(self):
        pytest.importorskip("jax", reason="needs jax: pip install 'circuit-explorer[watch]'")

    @pytest.mark.parametrize("name", ["build", "jitted"])
    def test_a_function_is_compiled_with_its_decisions(self, model, tmp_path, name):
        trace = watch_xla(f"{model}:{name}")
        assert trace.options["compiler"].startswith("XLA, jax ")
        assert trace.options["subject"] == name
        (fusion,) = [step for step in trace.steps if step.at.pass_name == "fusion"]
        assert fusion.applied
        assert fusion.refusals
        sources = {one.about.get("source", "") for one in trace.steps[0].snapshot.graph.nodes.values()}
        assert "model.py:10: return jax.nn.softmax(jnp.tanh(x @ w))" in sources
        trace.save(tmp_path / "trace.json.gz")
        assert len(Trace.load(tmp_path / "trace.json.gz").steps) == len(trace.steps)

    @pytest.mark.parametrize(
        ("name", "error", "message"),
        [
            ("absent", UnknownNameError, "model.py:absent: no function named 'absent'; known are: forward, build"),
            ("alone", DataTypeError, "model.py:alone: it must return a function of JAX and a tuple .*; found function"),
            (
                "fails",
                UserCodeError,
                r"model.py:fails: its process ended with code 1; .*\n(.*\n)*KeyError: 'no weights'",
            ),
            ("invalid", UserCodeError, r"(.*\n)*.*TypeError: .*dot_general"),
            ("stops", UserCodeError, "model.py:stops: its process ended with code 3"),
        ],
    )
    def test_errors_of_the_users_code_are_reported(self, model, name, error, message):
        with pytest.raises(error, match=message):
            watch_xla(f"{model}:{name}")
