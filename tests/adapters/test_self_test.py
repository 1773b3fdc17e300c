"""The self-test says what is heard of the installed torch, and what is not."""

import pytest
from torch._inductor import config
from typer.testing import CliRunner

from explorer.adapters.inductor.listening import Hearing
from explorer.adapters.inductor.self_test import self_test
from explorer.app.cli import app
from tests.adapters.models import built_here  # noqa: F401 (a fixture)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
"""Inductor imports modules that use deprecated parts of PyTorch."""


def test_every_hook_of_the_installed_torch_is_heard() -> None:
    result = CliRunner().invoke(app, ["watch", "--self-test"])
    assert result.exit_code == 0, result.output
    assert "NOT HEARD" not in result.output
    assert "heard      choices handler: scores of candidates" in result.output


def test_a_hook_that_is_not_heard_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Hearing, "scored", lambda *_: None)
    result = CliRunner().invoke(app, ["watch", "--self-test"])
    assert result.exit_code == 1
    assert [line for line in result.output.splitlines() if "NOT" in line] == [
        "  NOT HEARD  choices handler: scores of candidates"
    ]


def test_a_compilation_that_fails_is_reported_with_what_was_heard_before() -> None:
    def fail(_: object) -> None:
        raise RuntimeError("this pass fails")

    with config.patch(post_grad_custom_post_pass=fail):
        found = self_test()
    assert not found.ok
    assert "this pass fails" in str(found).splitlines()[-1]
    heard = {hook.name: hook.is_heard for hook in found.hooks}
    assert heard["compile_fx"]
    assert not heard["_pre_fusion_custom_pass"]
