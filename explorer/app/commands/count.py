"""`circuit-explorer count`: the models of a logic circuit, exact, and with weights."""

from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from explorer.app.commands.console import print_text, say_note
from explorer.errors import ValueRangeError

if TYPE_CHECKING:
    from explorer.templates.logic import LogicCircuit


def count(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="an SDD file, or an NNF file of c2d or d4")],
    vtree: Annotated[Path | None, typer.Option(help="the vtree of an SDD file")] = None,
    variables: Annotated[
        int | None, typer.Option(min=0, help="the number of variables, if the file does not contain it")
    ] = None,
    weight: Annotated[
        list[str] | None,
        typer.Option(metavar="LITERAL=NUMBER", help="the weight of a literal, such as 3=0.2 or -3=4/5 (repeatable)"),
    ] = None,
    assume_deterministic: Annotated[
        bool, typer.Option("--assume-deterministic", help="count even if determinism cannot be shown")
    ] = False,
) -> None:
    """Count the models of a logic circuit exactly; with weights, sum their weights (a literal without one has 1)."""
    from explorer.templates.logic import count_models, read_logic, read_vtree, weighted_count

    weights: dict[int, Fraction] = {}
    for literal, number in map(_weight, weight or []):
        if literal in weights:
            raise ValueRangeError(f"--weight {literal}: the weight of this literal is given twice")
        weights[literal] = number
    circuit = read_logic(file, None if vtree is None else read_vtree(vtree), num_variables=variables)
    say_note(_describe(circuit))
    if weights:
        print_text(_digits(Fraction(weighted_count(circuit, weights, assume_deterministic=assume_deterministic))))
    else:
        print_text(_digits(Fraction(count_models(circuit, assume_deterministic=assume_deterministic))))


def _describe(circuit: "LogicCircuit") -> str:
    nodes, edges = len(circuit.nodes), circuit.num_edges
    return f"{nodes:,} nodes, {edges:,} edges, {circuit.num_variables:,} variables"


def _digits(number: Fraction) -> str:
    """All digits of an integer, or 17 digits of a fraction; a Decimal has no bounds that a count could exceed."""
    if number.denominator == 1:
        return str(Decimal(number.numerator))
    with localcontext(prec=17):
        return str(Decimal(number.numerator) / Decimal(number.denominator))


def _weight(text: str) -> tuple[int, Fraction]:
    """Parse LITERAL=NUMBER. Raises: ValueRangeError."""
    literal, _, number = text.partition("=")
    try:
        return int(literal), Fraction(number)
    except (ValueError, ZeroDivisionError) as error:
        raise ValueRangeError(f"--weight {text}: expected LITERAL=NUMBER, such as 3=0.2 or -3=4/5") from error
