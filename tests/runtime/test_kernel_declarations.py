"""What both C++ and Python declare is the same: numbers of kinds, fields of structures, and the limits of bounds."""

import ctypes
import re

import pytest

from explorer.runtime import constants
from explorer.runtime.grouped import kernels as grouped
from explorer.runtime.memory import LINE_BYTES
from explorer.runtime.native import arrays, library, training_plan
from explorer.runtime.native.arrays import KINDS
from explorer.runtime.native.build import FOLDER
from explorer.runtime.units import MAX_FACTORS, MAX_TABLE_STATES

SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.h")))
CODE = re.sub(r"//.*", "", SOURCES)
C_TYPES = {"int64_t": ctypes.c_int64, "double": ctypes.c_double, "float": ctypes.c_float}


def members(enum: str) -> dict[str, int]:
    body = re.search(rf"enum {enum} : \w+ {{(.*?)}};", CODE, re.DOTALL)
    assert body is not None
    return {name.strip(): number for number, name in enumerate(body[1].split(","))}


def fields(struct: str) -> list[tuple[str, type]]:
    """Names and types of the fields of a structure; whatever is an address is a void pointer."""
    body = re.search(rf"struct {struct} {{(.*?)}};", CODE, re.DOTALL)
    assert body is not None
    found: list[tuple[str, type]] = []
    for line in filter(None, (line.strip() for line in body[1].split(";"))):
        kind, first, *others = re.split(r"[ ,]+(?=\w+(?:,|$))", line)
        found += [(name, ctypes.c_void_p if "*" in kind else C_TYPES[kind]) for name in (first, *others)]
    return found


def constant(name: str) -> float:
    found = re.search(rf"constexpr (?:int|Real) {name} = ([-\d.e]+)f?;", CODE)
    assert found is not None
    return float(found[1])


def test_kinds_have_the_same_numbers():
    assert {kind.name: number for kind, number in KINDS.items()} == members("Kind")


def test_contents_of_tables_have_the_same_numbers():
    numbers = training_plan.CONTENTS
    assert {name: numbers[name.lower()] for name in ("LINEAR", "LOGARITHMS", "NORMALIZED")} == members("Content")


def test_statuses_are_the_same():
    assert f"BAD_INPUT = {library.BAD_INPUT}, BAD_WEIGHT = {library.BAD_WEIGHT}" in CODE


@pytest.mark.parametrize(
    ("name", "structure"),
    [
        ("Circuit", library.NativeCircuit),
        ("Input", library.NativeInput),
        ("Training", library.NativeTraining),
        ("Numbers", library.NativeNumbers),
        ("Share", library.NativeShare),
        ("Call", library.NativeCall),
        ("KeptTile", library.NativeKeptTile),
        ("BackwardCall", library.NativeBackwardCall),
    ],
)
def test_structures_have_the_same_fields(name, structure):
    assert list(structure._fields_) == fields(name)


def test_positions_of_fields_are_the_same():
    unit, operand = ([name for name, _ in fields(struct)] for struct in ("Unit", "Operand"))
    named = {"slot": training_plan.SLOT, "operands": training_plan.OPERANDS, "weight": training_plan.WEIGHT}
    assert {name: unit.index(name) for name in named} == named
    assert unit.index("source") == training_plan.SOURCE
    assert operand.index("gradient") == training_plan.GRADIENT
    assert operand.index("by_row") == training_plan.BY_ROW
    assert operand[training_plan.ROWS :][:3] == ["rows", "scales", "bounds"]
    table = [name for name, _ in fields("Table")]
    assert (table.index("states"), len(table)) == (training_plan.STATES_OF_TABLE, training_plan.TABLE_FIELDS)
    assert table[-5:] == ["content", "rows", "scales", "bounds", "normalizers"]
    assert table[training_plan.STATES_OF_TABLE - 1] == "width"
    assert unit[-1] == "gradient"


def test_rows_that_are_computed_at_a_time_are_the_same():
    assert (constant("SPAN_ROWS"), constant("SPAN_WIDTH")) == (arrays.SPAN_ROWS, arrays.SPAN_WIDTH)


def test_as_many_products_are_formed_as_there_is_memory_for():
    assert f"TUCKER_WIDTH = {training_plan.TUCKER_VECTORS} * LANES;" in CODE


def test_lines_of_the_cache_have_the_same_bytes():
    assert f"LINE = {LINE_BYTES};" in CODE


def test_states_of_tables_fit_their_type():
    assert "typedef uint16_t State;" in CODE
    assert MAX_TABLE_STATES == 1 << 16


def test_limits_of_the_bounds_are_the_same():
    assert constant("MAX_FACTORS") == MAX_FACTORS
    assert constant("DROPPED") == grouped.DROPPED
    assert constant("SMALLEST") == pytest.approx(constants.SMALLEST, rel=1e-8)
