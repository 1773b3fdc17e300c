"""Files of logic circuits that are malformed: a typed error that names the line."""

import pytest
from inline_snapshot import snapshot

from explorer.errors import FileFormatError
from explorer.templates.logic import build_circuit, count_models, read_logic, read_nnf, read_sdd, read_vtree

VTREE = "vtree 3\nL 0 1\nL 2 2\nI 1 0 2\n"
SDD = "c x1 = x2\nsdd 5\nL 0 0 1\nL 1 2 2\nL 2 0 -1\nL 3 2 -2\nD 4 1 2 0 1 2 3\n"
NNF = "nnf 4 3 3\nL 1\nL -2\nA 1 1\nO 1 2 0 2\n"
D4 = "o 1 0\no 2 0\no 3 0\nt 4 0\n3 4 -2 3 0\n3 4 2 0\n2 3 -1 0\n2 4 1 0\n1 2 0\n"


def error(tmp_path, text: str | bytes, read=read_logic, **options) -> str:
    path = tmp_path / "file"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FileFormatError) as raised:
        read(path, **options)
    return str(raised.value).replace(str(path), "file")


def vtree(tmp_path):
    (tmp_path / "tree").write_text(VTREE)
    return read_vtree(tmp_path / "tree")


def test_whole_files_are_read(tmp_path):
    for name, text in {"sdd": SDD, "d4": D4}.items():
        (tmp_path / name).write_text(text)
    assert count_models(read_sdd(tmp_path / "sdd")) == 2
    assert count_models(read_sdd(tmp_path / "sdd", vtree(tmp_path))) == 2
    assert count_models(read_sdd(tmp_path / "sdd", num_variables=5)) == 16
    assert count_models(read_nnf(tmp_path / "d4")) == 7
    assert count_models(read_nnf(tmp_path / "d4", num_variables=4)) == 14


def test_files_that_are_no_logic_circuits(tmp_path):
    found = [error(tmp_path, text) for text in ("", "c only\n", "{ }", b"\x80\x81", "p cnf 2 1\n1 0\n")]
    assert found == snapshot(
        [
            "file is empty",
            "file is empty",
            "file, line 1: expected the header `nnf NODES EDGES VARIABLES` or a node of d4 (o, a, t, f), found '{'",
            "file is not a text file: byte 0 is not UTF-8",
            "file seems to be a CNF, which is a formula, not a circuit; compile it with d4 or c2d to an NNF file "
            "(.nnf)",
        ]
    )
    with pytest.raises(FileFormatError, match=r"cannot read .*missing\.sdd: No such file"):
        read_logic(tmp_path / "missing.sdd")


def test_malformed_diagrams_name_the_line(tmp_path):
    found = [
        error(tmp_path, SDD.replace(old, new))
        for old, new in [
            ("sdd 5", "sdd"),
            ("sdd 5", "sdd five"),
            ("sdd 5", "sdd 6"),
            ("L 1 2 2", "X 1 2 2"),
            ("L 1 2 2", "L"),
            ("L 1 2 2", "L 0 2 2"),
            ("L 1 2 2", "L 1 2"),
            ("L 1 2 2", "L 1 2 0"),
            ("L 1 2 2", "L 1 2 9999999"),
            ("L 1 2 2", "L 1 2 99999999999999"),
            ("L 1 2 2", "T 1 2"),
            ("D 4 1 2 0 1 2 3", "D 4 1 2 0 1 2"),
            ("D 4 1 2 0 1 2 3", "D 4 1 0"),
            ("D 4 1 2 0 1 2 3", "D 4 1 2 0 1 2 4"),
            ("D 4 1 2 0 1 2 3", ""),
        ]
    ]
    assert found == snapshot(
        [
            "file, line 2: expected the header `sdd NODES`, found 'sdd'",
            "file, line 2: expected an integer of up to 2,147,483,647, found 'five'",
            "file: the header announces 6 nodes, the file has 5; is it truncated?",
            "file, line 4: a node is F, T, L or D; found 'X'",
            "file, line 4: expected the id of a node, found the end of the line",
            "file, line 4: node 0 is already defined",
            "file, line 4: expected L ID VTREE LITERAL, found 2 numbers",
            "file, line 4: literal 0 is out of range: variables are 1 to 1,000,000, negative if false",
            "file, line 4: literal 9999999 is out of range: variables are 1 to 1,000,000, negative if false",
            "file, line 4: expected an integer of up to 2,147,483,647, found '99999999999999'",
            "file, line 4: expected T ID, found 2 numbers",
            "file, line 7: expected D ID VTREE ELEMENTS and then PRIME SUB for each element, found 6 numbers",
            "file, line 7: expected D ID VTREE ELEMENTS and then PRIME SUB for each element, found 3 numbers",
            "file, line 7: decision node 4 reads node 4, which is not defined above",
            "file: the header announces 5 nodes, the file has 4; is it truncated?",
        ]
    )


def test_a_diagram_that_does_not_follow_its_vtree_is_refused(tmp_path):
    tree = vtree(tmp_path)
    found = [
        error(tmp_path, SDD.replace(old, new), read_sdd, vtree=tree)
        for old, new in [
            ("L 1 2 2", "L 1 2 3"),
            ("L 1 2 2", "L 1 0 2"),
            ("L 1 2 2", "L 1 7 2"),
            ("D 4 1", "D 4 0"),
            ("D 4 1 2 0 1 2 3", "D 4 1 2 1 0 3 2"),
        ]
    ]
    assert found == snapshot(
        [
            "file, line 4: literal 3 is out of range: variables are 1 to 2, negative if false",
            "file, line 4: literal 2 is at vtree node 0, which is not the leaf of its variable",
            "file, line 4: the vtree has no node 7",
            "file, line 7: a decision node is at vtree node 0, which is a leaf",
            "file, line 7: a prime at vtree node 2 is not below vtree node 0, the left child of 1",
        ]
    )
    assert error(tmp_path, NNF, vtree=tree) == snapshot("file: a vtree belongs to an SDD file; found 'nnf' in line 1")


def test_malformed_vtrees_name_the_line(tmp_path):
    found = [
        error(tmp_path, VTREE.replace(old, new), read_vtree)
        for old, new in [
            ("vtree 3", "sdd 3"),
            ("vtree 3", "vtree 4"),
            ("L 2 2", "L 2 1"),
            ("L 2 2", "L 2 3"),
            ("L 2 2", "L 0 2"),
            ("L 2 2", "L 2"),
            ("I 1 0 2", "I 1 0 0"),
            ("I 1 0 2", "I 1 0 1"),
            ("I 1 0 2", ""),
        ]
    ]
    assert found == snapshot(
        [
            "file, line 1: expected the header `vtree NODES`, found 'sdd 3'",
            "file: the header announces 4 nodes, the file has 3; is it truncated?",
            "file, line 3: a leaf has a variable from 1 on that no other leaf has; found 1",
            "file: 2 leaves need the variables 1 to 2",
            "file, line 3: vtree node 0 is already defined",
            "file, line 3: expected L ID VARIABLE or I ID LEFT RIGHT, found 'L 2'",
            "file, line 4: node 1 needs child 0, which is not defined above or has a parent",
            "file, line 4: node 1 needs child 1, which is not defined above or has a parent",
            "file: the header announces 3 nodes, the file has 2; is it truncated?",
        ]
    )


def test_malformed_files_of_c2d_name_the_line(tmp_path):
    found = [
        error(tmp_path, NNF.replace(old, new))
        for old, new in [
            ("nnf 4 3 3", "nnf 4 3"),
            ("nnf 4 3 3", "nnf 5 3 3"),
            ("L -2", "L -4"),
            ("L -2", "L -2 1"),
            ("A 1 1", "A 2 1"),
            ("A 1 1", "A 1 2"),
            ("A 1 1", "A"),
            ("A 1 1", "A 1 1.5"),
            ("O 1 2", "O 4 2"),
            ("O 1 2 0 2", "N 1"),
            ("O 1 2 0 2\n", ""),
        ]
    ]
    assert found == snapshot(
        [
            "file, line 1: expected the header `nnf NODES EDGES VARIABLES`, found 'nnf 4 3'",
            (
                "file: the header announces 5 nodes, the file has 4; is it truncated? "
                "If it is complete, correct its header: nnf 4 3 3"
            ),
            "file, line 3: literal -4 is out of range: variables are 1 to 3, negative if false",
            "file, line 3: expected L LITERAL, A COUNT INPUTS or O VARIABLE COUNT INPUTS, found 'L -2 1'",
            "file, line 4: expected L LITERAL, A COUNT INPUTS or O VARIABLE COUNT INPUTS, found 'A 2 1'",
            "file, line 4: node 2 reads node 2, which is not defined above",
            "file, line 4: expected L LITERAL, A COUNT INPUTS or O VARIABLE COUNT INPUTS, found 'A'",
            "file, line 4: expected an integer of up to 2,147,483,647, found '1.5'",
            "file, line 5: an OR node decides on a variable from 1 to 3, or 0; found 4",
            "file, line 5: expected L LITERAL, A COUNT INPUTS or O VARIABLE COUNT INPUTS, found 'N 1'",
            (
                "file: the header announces 4 nodes, the file has 3; is it truncated? "
                "If it is complete, correct its header: nnf 3 3 3"
            ),
        ]
    )
    assert error(tmp_path, NNF, num_variables=2) == snapshot(
        "file, line 1: the file has 3 variables; num_variables is 2"
    )


@pytest.mark.parametrize("header", ["nnf 4 0 3", "nnf 4 9 3", "nnf 1 1 3"])
def test_headers_with_other_counts_are_read_if_no_node_is_missing(tmp_path, header):
    (tmp_path / "a.nnf").write_text(NNF)
    (tmp_path / "b.nnf").write_text(NNF.replace("nnf 4 3 3", header))
    assert read_nnf(tmp_path / "b.nnf") == read_nnf(tmp_path / "a.nnf")


def test_a_single_literal_of_dsharp_is_read(tmp_path):
    (tmp_path / "a.nnf").write_text("nnf 1 1 10\nL 1\n")
    assert build_circuit(read_nnf(tmp_path / "a.nnf")).num_variables == 10


@pytest.mark.parametrize("text", [NNF, D4])
def test_a_byte_order_mark_is_ignored(tmp_path, text):
    (tmp_path / "a.nnf").write_text(text.lstrip())
    (tmp_path / "b.nnf").write_text("\ufeff" + text.lstrip(), encoding="utf-8")
    assert read_nnf(tmp_path / "b.nnf") == read_nnf(tmp_path / "a.nnf")


def test_malformed_files_of_d4_name_the_line(tmp_path):
    found = [
        error(tmp_path, D4.replace(old, new))
        for old, new in [
            ("o 2 0", "o 2"),
            ("o 2 0", "o 1 0"),
            ("2 4 1 0", "2 4 1"),
            ("2 4 1 0", "2 0"),
            ("2 4 1 0", "2 5 1 0"),
            ("2 4 1 0", "4 2 1 0"),
            ("2 4 1 0", "2 1 1 0"),
            ("2 4 1 0", "3 2 1 0"),
            ("3 4 -2 3 0\n3 4 2 0\n", ""),
        ]
    ]
    assert found == snapshot(
        [
            "file, line 2: expected a line that ends with 0, found 'o 2'; is it truncated?",
            "file, line 2: expected the definition of a new node, found 'o 1 0'",
            "file, line 8: expected a line that ends with 0, found '2 4 1'; is it truncated?",
            "file, line 8: expected an arc `SOURCE TARGET LITERALS 0`, found '2 0'",
            "file, line 8: an arc from 2 to 5: node 5 is not defined above",
            "file, line 8: an arc leaves node 4, which is the constant true",
            "file, line 8: an arc enters node 1, the root",
            "file, line 8: the arc from 3 to 2 closes a cycle",
            "file, line 3: node 3 has no arcs; is the file truncated?",
        ]
    )
    assert error(tmp_path, D4, num_variables=2) == snapshot(
        "file, line 5: literal 3 is out of range: variables are 1 to 2, negative if false"
    )
