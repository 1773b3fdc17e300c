"""`circuit-explorer validate`: whether a file is a trace that can be read, and the schema of such files."""

import json
from pathlib import Path
from typing import Annotated

import typer

from explorer.app.commands.console import print_text
from explorer.errors import FormError


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
