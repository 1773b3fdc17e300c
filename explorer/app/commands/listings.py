"""`circuit-explorer gallery`, `rules` and `validate`: named circuits, rules of a level, whether a trace is valid."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from explorer.app.commands.console import notes, print_text, results
from explorer.app.commands.trace import LEVELS_TEXT
from explorer.errors import FormError
from explorer.trace import COMPILED

if TYPE_CHECKING:
    from explorer.trace import PassRules


def list_gallery() -> None:
    """List the named circuits: layers, variables, what each one teaches, and what it has learned."""
    from explorer.templates import gallery

    table = Table()
    table.add_column("name", style="bold", no_wrap=True)
    table.add_column("layers", justify="right")
    table.add_column("variables", justify="right")
    table.add_column("what it shows", overflow="fold")
    with notes().status("Building the circuits"):
        for name in gallery.names():
            circuit = gallery.load_named(name)
            words = f"{gallery.describe(name)} {gallery.describe_learned(name)}".rstrip()
            table.add_row(name, f"{len(circuit.graph):,}", f"{len(circuit.scope):,}", words)
    results().print(table)


def rules(level: Annotated[str, typer.Option(help=f"the level: {LEVELS_TEXT}")] = COMPILED) -> None:
    """List the passes of a level and their rules: where each is tried, what it does, where it is written."""
    with notes().status("Loading torch"):
        from explorer.trace import rules_text

        found = passes_of_level(level)
    print_text(rules_text(found))


def passes_of_level(level: str) -> "list[PassRules]":
    """All passes of a level in the order of `explorer.passes`, those that run only on request last.

    Raises: UnknownNameError.
    """
    from explorer.errors import check_name
    from explorer.passes import purposes_of
    from explorer.recording import lowered_level
    from explorer.trace import LEVELS, PassRules, group_by_kind

    check_name("level", level, LEVELS)
    purposes = purposes_of(level)
    if level == COMPILED:
        from explorer.optimize import preset_rules

        rules = {one.name: one.rules for one in group_by_kind(preset_rules("default").describe())}
        return [PassRules(name, purpose, rules.get(name, ())) for name, purpose in purposes.items()]
    known = lowered_level(level)
    default = known.pipeline.pass_ids
    return [
        PassRules(
            name,
            f"{purpose}{'' if name in default else ' Not in the default pipeline.'}",
            known.passes[name].describe(),
        )
        for name, purpose in purposes.items()
    ]


def validate(
    file: Annotated[Path | None, typer.Argument(help="a trace file", show_default=False)] = None,
    schema: Annotated[bool, typer.Option("--schema", help="print the JSON schema of trace files")] = False,
) -> None:
    """Say whether a file is a trace that can be read; if not, the first error and its place (exit code 2)."""
    from explorer.trace.file_types import trace_schema
    from explorer.trace.trace_files import load_trace

    if schema:
        print_text(json.dumps(trace_schema(), indent=1))
        return
    if file is None:
        raise FormError("expected a trace file, or --schema")
    trace = load_trace(file)
    level = trace.level.name
    subject = trace.options.get("subject") or "a circuit"
    count = len(trace.steps)
    print_text(f"{file} is a trace of {subject} at the level {level}, {count} step{'s' * (count != 1)}")
