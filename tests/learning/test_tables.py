"""Columns are inferred, encode and decode their cells, and say which row and column does not fit."""

import math
import pickle
import re
from copy import deepcopy
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from explorer.errors import (
    DataTypeError,
    DuplicateNameError,
    FileFormatError,
    MissingPackageError,
    ShapeError,
    UnknownNameError,
    ValueRangeError,
)
from explorer.learning.structures import independent_bits
from explorer.learning.tables import (
    BinomialColumn,
    CategoricalColumn,
    GaussianColumn,
    RawTable,
    columns_from_json,
    encode_rows,
    infer_columns,
    load_table,
    notes_on,
    read_table,
)
from explorer.learning.tables.reading import table_of_frame


def table(tmp_path, text, name="table.csv"):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return read_table(path)


def column_of(tmp_path, cells, **kinds):
    """The column x that is inferred from cells."""
    (found,) = infer_columns(table(tmp_path, "\n".join(["x", *map(str, cells)])), kinds)
    return found


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["b", "a", "b"], CategoricalColumn("x", ("a", "b"))),
        ([1, 0, 1, 1], CategoricalColumn("x", ("0", "1"))),
        ([1.0, "2", 10], CategoricalColumn("x", ("1", "2", "10"))),
        ([7, 7, 7], CategoricalColumn("x", ("7",))),
        (list(range(30)), GaussianColumn("x", 14.5, float(np.std(range(30))), is_integer=True)),
        ([100 * n for n in range(21)], GaussianColumn("x", 1000.0, float(np.std(range(0, 2100, 100))), True)),
        ([0.5, 1.5], GaussianColumn("x", 1.0, 0.5)),
        (["1e3", "-2.5"], GaussianColumn("x", 498.75, 501.25)),
        (["yes", "no", "?", "NA", "nan"], CategoricalColumn("x", ("no", "yes"))),
        (["007", "7", "08"], CategoricalColumn("x", ("7", "007", "08"))),
        (["1_000", "a"], CategoricalColumn("x", ("1_000", "a"))),
    ],
)
def test_the_kind_of_a_column_is_inferred(tmp_path, cells, expected):
    assert column_of(tmp_path, cells) == expected


def test_a_kind_can_be_chosen(tmp_path):
    assert column_of(tmp_path, range(30), x="categorical") == CategoricalColumn("x", tuple(map(str, range(30))))
    assert column_of(tmp_path, [0, 1, 4], x="binomial") == BinomialColumn("x", 0, 4)
    assert column_of(tmp_path, [0, 2], x="gaussian") == GaussianColumn("x", 1.0, 1.0, is_integer=True)
    both = table(tmp_path, "id,y\na,1\nb,2\n")
    assert [one.name for one in infer_columns(both, {"id": "ignore"})] == ["y"]


def test_codes_are_decoded_to_the_cells(tmp_path):
    found = table(tmp_path, "colour;age;size\nred;20;1.5\nblue;70;2.5\nred;21;\n")
    columns = infer_columns(found, {"age": "binomial"})
    rows = encode_rows(found, columns, missing="ignore").numpy()
    assert rows[:, :2].tolist() == [[1, 0], [0, 50], [1, 1]]
    assert rows[:2, 2].tolist() == [-1, 1]
    assert math.isnan(rows[2, 2])
    cells = [column.decode(codes) for column, codes in zip(columns, rows.T, strict=True)]
    assert cells == [["red", "blue", "red"], [20, 70, 21], [1.5, 2.5, None]]
    assert columns_from_json([column.to_json() for column in columns], "here") == columns


def test_decimals_come_back_as_they_were_written():
    numbers = [n / 1000 for n in range(-1000, 1000, 7)] + [123456.789, 0.0, 1e9]
    column = GaussianColumn("x", 4.918341666666667, 2.1549738471)
    assert column.decode(column.encode(np.array([str(n) for n in numbers], dtype=object), "here")) == numbers


def test_the_first_line_may_have_no_names(tmp_path):
    assert table(tmp_path, "1,a\n2,b\n").names == ("x0", "x1")
    assert table(tmp_path, "red,1.5\nblue,2.5\nred,3.5\nblue,1\n").names == ("x0", "x1")
    assert table(tmp_path, "?,1.5\n2,2.5\n").names == ("x0", "x1")
    assert table(tmp_path, "name,2019\na,1\nb,2\na,3\nb,4\n").names == ("name", "2019")
    assert table(tmp_path, "size,2019\n1,1\nNA,2\n").names == ("size", "2019")
    assert table(tmp_path, "\ufeffname\tother\n1\t2\n", "t.tsv").names == ("name", "other")
    assert table(tmp_path, 'a,b\n"x, y",2\n\n').columns[0].tolist() == ["x, y"]


def test_quotes_may_follow_blanks(tmp_path):
    found = table(tmp_path, 'Name, "Country"\nUsain Bolt, "JAM"\n"Blake, Y.",  "a, b"\n')
    assert found.names == ("Name", "Country")
    assert [cells.tolist() for cells in found.columns] == [["Usain Bolt", "Blake, Y."], ["JAM", "a, b"]]


def test_words_are_one_column(tmp_path):
    assert table(tmp_path, "street name\nHigh Street\nLow Road\n").names == ("street name",)
    assert table(tmp_path, "the text\nseat 12 b\nseat 7\n").names == ("the text",)


def test_the_index_of_a_frame_is_a_column(tmp_path):
    found = table(tmp_path, ",colour,size\n0,red,1.5\n1,blue,2.5\n")
    assert found.names == ("index", "colour", "size")
    rows = "".join(f"{row},{row % 2}\n" for row in range(100, 130))
    (tmp_path / "frame.csv").write_text(",y\n" + rows)
    (note,) = notes_on(load_table(tmp_path / "frame.csv"))
    assert note.startswith("column 'index' counts the rows")
    assert "--column index=ignore" in note
    with pytest.raises(DuplicateNameError, match="several columns named 'index'"):
        table(tmp_path, ",index\n0,1\n")


@pytest.mark.parametrize("unit", [1e-300, 1e300])
def test_numbers_whose_squares_are_not_doubles_have_a_scale(tmp_path, unit):
    cells = [unit * cell for cell in (1, 2, 4)]
    column = column_of(tmp_path, cells, x="gaussian")
    codes = column.encode(np.array([str(cell) for cell in cells], dtype=object), "here")
    assert abs(codes.std() - 1) < 1e-12
    assert column.decode(codes) == cells


def test_an_array_is_a_table(tmp_path):
    np.save(tmp_path / "a.npy", np.array([[0, 1.5], [1, 2.5], [1, 0.5], [0, 1.5], [1, np.nan]]))
    found = load_table(tmp_path / "a.npy", missing="ignore")
    assert [column.kind for column in found.columns] == ["categorical", "gaussian"]
    assert (len(found.training), len(found.held_out)) == (4, 1)


@pytest.mark.parametrize(
    ("text", "kinds", "error", "message"),
    [
        (
            "x\n1.5\n2.5\n3.5\noops\n",
            {},
            DataTypeError,
            "number column 'x' has the text 'oops' in row 4.*; .*=categorical",
        ),
        ("x\na\nb\n", {"x": "gaussian"}, DataTypeError, "number column 'x' has the text 'a' in row 1"),
        ("x\n1\n1\n", {"x": "gaussian"}, ValueRangeError, "column 'x' is constant"),
        ("x\n0.5\n1\n", {"x": "binomial"}, DataTypeError, "column 'x' has fractions"),
        ("x\n1.5\ninf\n", {}, ValueRangeError, "column 'x' is infinite in row 2"),
        ("x\n3\ninf\n3\n", {}, ValueRangeError, "column 'x' is infinite in row 2"),
        ("x,y\n?,1\n,2\n", {}, ValueRangeError, "column 'x' has no values"),
        ("x\n1\n", {"x": "colour"}, UnknownNameError, "no kind of column named 'colour'"),
        ("x\n1\n", {"z": "gaussian"}, UnknownNameError, "no column named 'z'; known are: x"),
        ("x\n1\n", {"x": "ignore"}, ShapeError, "every column is ignored"),
        ("\n".join(["x", *(f"name{n}" for n in range(200))]), {}, ValueRangeError, "200 different values in 200 rows"),
        (
            "\n".join(["x;y", *(f"{n},5;1" for n in range(200))]),
            {},
            ValueRangeError,
            "column 'x' has numbers with a comma, such as '0,5'; write them with a decimal point only",
        ),
    ],
)
def test_columns_that_do_not_fit_are_named(tmp_path, text, kinds, error, message):
    with pytest.raises(error, match=message):
        infer_columns(table(tmp_path, text), kinds)


def test_one_error_describes_all_columns_and_missing_cells(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,age,none,x\n" + "".join(f"name{n},{n % 7 or ''},?,{n}\n" for n in range(210)))
    with pytest.raises(ValueRangeError) as raised:
        load_table(path)
    message = str(raised.value)
    for part in (
        f"{path}: column 'id' has 210 different values",
        "; also, column 'none' has no values; use --column none=ignore; also, 240 cells are missing in 210 of 210 rows",
        "--missing ignore",
    ):
        assert part in message
    assert message.count(str(path)) == 1
    with pytest.raises(ValueRangeError) as raised:
        load_table(path, {"id": "ignore"}, missing="ignore")
    assert str(raised.value) == f"{path}: column 'none' has no values; use --column none=ignore"
    path.write_text(",".join("abcdefgh") + "\n" + 5 * (",".join("????????") + "\n"))
    with pytest.raises(ValueRangeError, match=r"column 'e' .*; and 3 more columns cannot be used") as raised:
        load_table(path, missing="ignore")
    assert "column 'f'" not in str(raised.value)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("", ShapeError, "is empty"),
        ("a,b\n", ShapeError, "2 columns and no rows"),
        ("a,b\n1,2\n3\n", FileFormatError, "line 3 has 1 cell; expected 2"),
        ("a,a\n1,2\n", DuplicateNameError, "several columns named 'a'"),
        ("a,\n1,2\n", FileFormatError, "column 2 has no name"),
        (",,a\n0,1,2\n", FileFormatError, "column 2 has no name"),
        ("Weight Waist Pulse\n191 36 50\n189 37 52\n", FileFormatError, "separated by blanks; .* write it with commas"),
    ],
)
def test_files_that_are_no_table_are_refused(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        table(tmp_path, text)


@pytest.mark.parametrize(
    ("shape", "error", "message"),
    [
        ((10**15, 3), FileFormatError, r"does not fit into memory, or is truncated: Unable to allocate"),
        ((10**30, 3), FileFormatError, "is not a NumPy array of numbers"),
        ((0, 10**11), ShapeError, "100000000000 columns and 0 rows; a table needs one of each"),
        ((5, 0), ShapeError, "0 columns and 5 rows; a table needs one of each"),
    ],
)
def test_a_short_file_with_an_array_of_any_size_is_refused_at_once(tmp_path, shape, error, message):
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    with pytest.raises(error, match=message):
        read_table(tmp_path / "a.npy")


def test_other_files_are_refused(tmp_path):
    (tmp_path / "latin.csv").write_bytes("größe\n1\n".encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"not a text file in UTF-8: .*iconv -f LATIN1 -t UTF-8"):
        read_table(tmp_path / "latin.csv")
    for content in (b"junk", b""):
        (tmp_path / "bad.npy").write_bytes(content)
        with pytest.raises(FileFormatError, match="not a NumPy array of numbers"):
            read_table(tmp_path / "bad.npy")
    np.save(tmp_path / "flat.npy", np.zeros(3))
    with pytest.raises(ShapeError, match=r"two axes, rows and columns; found shape \(3,\)"):
        read_table(tmp_path / "flat.npy")
    with pytest.raises(FileFormatError, match=r"cannot read .*gone\.csv: No such file"):
        read_table(tmp_path / "gone.csv")
    with pytest.raises(UnknownNameError, match=r"no kind of table file named '\.xlsx'"):
        read_table(tmp_path / "a.xlsx")


IDS = [4006381333930 + n for n in range(6)] + [1234567890123456789 + n for n in range(6)]


def test_integers_of_many_digits_stay_apart(tmp_path):
    column = column_of(tmp_path, IDS * 2)
    assert column == CategoricalColumn("x", tuple(map(str, IDS)))
    again = column.decode(column.encode(np.array(["+4006381333935", "1234567890123456789"], dtype=object), ""))
    assert again == ["4006381333935", "1234567890123456789"]
    column = column_of(tmp_path, [10**12 + n for n in range(30)])
    assert column.decode(column.encode(np.array([10.0**12 + 7]), "") + 0.001) == [10**12 + 7]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_large_integers_of_an_array_and_of_a_data_frame_stay_apart(tmp_path, dtype):
    pandas = pytest.importorskip("pandas")
    array = np.array(IDS * 2, dtype=dtype)
    np.save(tmp_path / "ids.npy", array[:, None])
    nullable = {np.int64: "Int64", np.uint64: "UInt64"}[dtype]
    frames = [pandas.Series(array), pandas.Series([*IDS, None], dtype=nullable)]
    tables = [table_of_frame(pandas.DataFrame({"x0": series}), "frame") for series in frames]
    for found in (read_table(tmp_path / "ids.npy"), *tables):
        assert infer_columns(found) == (CategoricalColumn("x0", tuple(map(str, IDS))),)


def test_an_integer_that_is_not_exact_is_not_a_number(tmp_path):
    with pytest.raises(ValueRangeError, match=r"'x' has the integer 9007199254740993 in row 2.*--column x=categorical"):
        column_of(tmp_path, [1, 2**53 + 1], x="gaussian")


def frame():
    pandas = pytest.importorskip("pandas")
    series = {
        "colour": pandas.Series(["red", None, " blue"]),
        "size": pandas.Series([1.5, 2.5, float("nan")]),
        "age": pandas.Series([20, None, 30], dtype="Int64"),
        "is_new": pandas.Series([True, False, True]),
        "day": pandas.to_datetime(pandas.Series(["2020-01-01", None, "2020-01-02"])),
        "grade": pandas.Series(["a", "b", None], dtype="category"),
    }
    return pandas.DataFrame(series)


def check_frame(found):
    assert found.names == ("colour", "size", "age", "is_new", "day", "grade")
    colour, size, age, is_new, day, grade = (column.tolist() for column in found.columns)
    assert colour == ["red", None, "blue"]
    assert size[:2] == [1.5, 2.5]
    assert math.isnan(size[2])
    assert (age[0], age[2], is_new) == (20.0, 30.0, [1.0, 0.0, 1.0])
    assert math.isnan(age[1])
    assert day == ["2020-01-01", None, "2020-01-02"]
    assert grade == ["a", "b", None]


def test_a_data_frame_is_a_table():
    check_frame(table_of_frame(frame(), "frame"))


def test_a_parquet_file_is_a_table(tmp_path):
    pytest.importorskip("pyarrow")
    frame().to_parquet(tmp_path / "a.parquet")
    check_frame(read_table(tmp_path / "a.parquet"))


@pytest.mark.parametrize("times", [("", ""), (" 00:00:00", " 03:30:00"), (" 00:00:00", " 03:30:00.5")])
@pytest.mark.parametrize("zone", [None, "UTC"])
def test_dates_of_a_parquet_file_are_those_of_the_csv_file_with_the_same_rows(tmp_path, times, zone):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    days = pandas.Series([f"2020-01-01{times[0]}", None, f"2020-01-02{times[1]}"])
    found = pandas.DataFrame({"day": pandas.to_datetime(days, format="ISO8601").dt.tz_localize(zone), "n": [1, 2, 3]})
    found.to_parquet(tmp_path / "a.parquet")
    found.to_csv(tmp_path / "a.csv", index=False)
    parquet, csv = (read_table(tmp_path / name).columns[0].tolist() for name in ("a.parquet", "a.csv"))
    assert parquet == csv
    assert parquet[1] is None


@pytest.mark.parametrize("zone", [None, "UTC"])
@pytest.mark.parametrize("time", ["03:30:00", "03:30:00.5"])
def test_dates_are_known_whether_they_are_written_with_a_time_or_without(tmp_path, time, zone):
    pandas = pytest.importorskip("pandas")
    days = pandas.Series(["2020-01-01", "2020-01-02", f"2020-01-03 {time}"])
    whole = pandas.DataFrame({"day": pandas.to_datetime(days, format="ISO8601").dt.tz_localize(zone)})
    with_times, dates = table_of_frame(whole, "times"), table_of_frame(whole[:2], "dates")
    (column,) = infer_columns(with_times, {"day": "categorical"})
    assert column.encode(dates.columns[0], "dates").tolist() == [0.0, 1.0]
    (column,) = infer_columns(dates, {"day": "categorical"})
    assert column.encode(with_times.columns[0][:2], "times").tolist() == [0.0, 1.0]
    with pytest.raises(ValueRangeError, match=r"has the unknown category '2020-01-03 03:30:00\S*' in row 3"):
        column.encode(with_times.columns[0], "times")


def test_a_date_that_is_a_category_with_a_time_and_without_keeps_its_two_codes():
    column = CategoricalColumn("day", ("2020-01-01", "2020-01-01 00:00:00", "1 days"))
    cells = np.array(["2020-01-01 00:00:00", "2020-01-01", "1 days 00:00:00"], dtype=object)
    assert column.encode(cells, "here").tolist() == [1.0, 0.0, 2.0]


def test_a_row_of_empty_cells_is_a_row_and_an_empty_line_is_none(tmp_path):
    found = table(tmp_path, "x,y\n1,2\n,\n\n3,4\n")
    assert [list(column) for column in found.columns] == [["1", None, "3"], ["2", None, "4"]]


def test_large_integers_of_a_parquet_file_stay_apart_beside_missing_ones(tmp_path):
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"x": arrow.array([*IDS, None])}), tmp_path / "ids.parquet")
    assert infer_columns(read_table(tmp_path / "ids.parquet")) == (CategoricalColumn("x", tuple(map(str, IDS))),)


def test_parquet_without_its_packages_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(MissingPackageError, match="pip install pandas pyarrow"):
        read_table(tmp_path / "a.parquet")


def test_other_rows_must_fit_the_columns(tmp_path):
    columns = (CategoricalColumn("colour", ("blue", "red")), BinomialColumn("age", 18, 90))
    with pytest.raises(ValueRangeError, match=r"category 'green' in row 2 \(line 3\); known are: blue, red"):
        encode_rows(table(tmp_path, "colour,age\nred,20\ngreen,30\n"), columns)
    with pytest.raises(ValueRangeError, match="'age' must be an integer from 18 to 90; found 17 in row 1"):
        encode_rows(table(tmp_path, "colour,age\nred,17\n"), columns)
    with pytest.raises(ShapeError, match="has no column 'age'; it has colour"):
        encode_rows(table(tmp_path, "colour\nred\n"), columns)
    with pytest.raises(ValueRangeError, match=r"no value in row 1 \(line 2\), and 2 cells are missing in 1 of 2 rows"):
        encode_rows(table(tmp_path, "age,colour\nNA,?\n18,red\n"), columns[::-1])
    with pytest.raises(ValueRangeError, match="and 1 cell is missing in 1 of 1 row "):
        encode_rows(table(tmp_path, "age,colour\n18,\n"), columns)
    reordered = encode_rows(table(tmp_path, "age,colour\n20,red\n"), columns)
    assert reordered.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ("text", "its columns are a str"),
        ([{"kind": "colour"}], "a column must have a kind"),
        ([{"kind": "gaussian", "name": "x"}], "a gaussian column lacks 'mean'"),
    ],
)
def test_columns_of_a_foreign_file_are_refused(data, message):
    with pytest.raises(FileFormatError, match=message):
        columns_from_json(data, "here")


def test_columns_that_identify_rows_or_have_dates_are_noted_with_what_to_do(tmp_path):
    text = "number,day,name,coat,size\n"
    text += "\n".join(f"{100 + n},2024-01-{n % 12 + 1:02},cat {n},{n % 3},{n * n}" for n in range(40))
    table(tmp_path, text)
    data = load_table(tmp_path / "table.csv")
    number, day, name = notes_on(data)
    assert "'number' counts the rows" in number
    assert "--column number=ignore" in number
    assert "'day' has dates, such as 2024-01-01, which became 12 categories" in day
    assert "'name' became 40 categories for 40 rows" in name
    assert notes_on(data, known=("number", "day", "name")) == ()
    table(tmp_path, "number,name\n" + "\n".join(f"{2 * n},cat {n % 15}" for n in range(40)))
    assert notes_on(load_table(tmp_path / "table.csv")) == ()


def test_a_nul_is_refused_since_categories_that_end_with_it_would_be_merged(tmp_path):
    path = tmp_path / "nul.csv"
    path.write_bytes(b"kind,size\nred,1\nred\0,2\n" * 5)
    with pytest.raises(FileFormatError, match=r"'kind' has a NUL character in row 2 \(line 3\): 'red\\x00'"):
        load_table(path)
    path.write_bytes(b"ki\0nd,size\nred,1\nblue,2\n" * 5)
    with pytest.raises(FileFormatError, match=r"the name of column 'ki\\x00nd' has a NUL character; remove it"):
        load_table(path)


@pytest.mark.parametrize("label", ["red ", "red\n2", "rötlich", "RED", "red\u200b", "red\u0301", "🟥"])
def test_categories_that_differ_in_any_other_character_are_kept_apart(tmp_path, label):
    path = tmp_path / "kinds.csv"
    path.write_text("kind,size\n" + f'red,1\n"{label}",2\n' * 5, encoding="utf-8")
    (kind, _) = load_table(path).columns
    assert isinstance(kind, CategoricalColumn)
    assert len(kind.labels) == (1 if label.strip() == "red" else 2)


@pytest.mark.parametrize("has_gaps", [False, True])
def test_baseline_of_widely_spread_integers_is_little_worse_than_uniform(tmp_path, has_gaps):
    """A binomial of 1,000 has a standard deviation of 16 and gives most of these integers less than 1e-20."""
    random = np.random.default_rng(0)
    sizes = [0, 1000, *random.integers(0, 1001, 398)]
    cells = ["" if has_gaps and row % 7 == 3 else str(size) for row, size in enumerate(sizes)]
    (path := tmp_path / "sizes.csv").write_text("size\n" + "\n".join(cell or '""' for cell in cells))
    data = load_table(path, {"size": "binomial"}, missing="ignore")
    share = float((~data.held_out.isnan()).double().mean())
    assert 0.9 < independent_bits(data) / (share * math.log2(1001)) < 1.1


def test_the_baseline_of_a_declared_range_does_not_count_every_value_of_it(tmp_path):
    (path := tmp_path / "ids.csv").write_text("id\n" + "\n".join(str(row * 10**11) for row in range(20)))
    assert 40 < independent_bits(load_table(path, {"id": "binomial"})) == pytest.approx(math.log2(16 + 19e11 + 1))


def test_the_baseline_of_several_columns_is_the_sum_of_theirs(tmp_path):
    random = np.random.default_rng(1)
    rows = [(random.integers(0, 300), random.normal(), random.choice(["a", "b"])) for _ in range(200)]
    names, found = ("count", "size", "kind"), []
    for chosen in (*([at] for at in range(3)), range(3)):
        lines = [",".join(str(row[at]) for at in chosen) for row in rows]
        (path := tmp_path / "t.csv").write_text("\n".join([",".join(names[at] for at in chosen), *lines]))
        found.append(independent_bits(load_table(path)) * len(chosen))
    assert sum(found[:3]) == pytest.approx(found[3])


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("x\n1.5\ninf\n", "row 2 (line 3)"),
        ("0.5\n1.5\ninf\n", "row 3 (line 3)"),  # without names
        ("x\n\n1.5\n\ninf\n", "row 2 (line 5)"),  # empty lines are no rows
        ('x,y\n1.5,"a\nb"\ninf,b\n', "row 2 (line 4)"),
        ('x,y\n1.5,a\ninf,"a\nb"\n', "row 2 (line 3)"),  # where the row begins
    ],
)
def test_an_error_names_the_line_of_a_text_file(tmp_path: Path, text: str, where: str) -> None:
    file = tmp_path / "a.csv"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ValueRangeError, match=re.escape(f"is infinite in {where}; correct it")):
        load_table(file)


def test_a_table_of_a_text_file_can_be_copied_and_keeps_its_lines(tmp_path: Path) -> None:
    read = table(tmp_path, "x,y\n1.5,a\n\ninf,b\n")
    for copy in (deepcopy(read), pickle.loads(pickle.dumps(read)), RawTable(**asdict(read)), read.select(["x"])):
        assert (type(copy.where), copy.where, copy.lines) == (str, str(tmp_path / "table.csv"), (2, 4))
        assert copy.columns[0].tolist() == ["1.5", "inf"]
        with pytest.raises(ValueRangeError, match=r"is infinite in row 2 \(line 4\)"):
            encode_rows(copy, (GaussianColumn("x", 0.0, 1.0),))


def test_an_array_has_rows_and_no_lines(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.array([[1.5], [np.inf], [2.5], [3.5], [4.5]]))
    with pytest.raises(ValueRangeError, match=r"is infinite in row 2; correct it"):
        load_table(tmp_path / "a.npy")


def test_numbers_that_are_no_integers_neither_count_rows_nor_have_hundreds_of_digits(tmp_path):
    rows = "".join(f"{n + 0.5},{n + 1}e300\n" for n in range(40))
    table(tmp_path, f"middle,huge\n{rows}")
    data = load_table(tmp_path / "table.csv")
    assert notes_on(data) == ()
    assert all(isinstance(one, GaussianColumn) and not one.is_integer for one in data.columns)
    assert data.columns[1].decode(np.array([0.0])) == [pytest.approx(2.05e301)]


@pytest.mark.parametrize(("mean", "scale"), [(1e15, 7.2), (-1e12, 0.01), (1e6, 1e-3)])
def test_numbers_far_from_zero_keep_the_digits_by_which_they_differ(mean: float, scale: float):
    column = GaussianColumn("a", mean, scale)
    cells = [mean + scale * step for step in (-1.5, -0.25, 0.5, 3.5)]
    decoded = np.array(column.decode(column.encode(np.array(cells), "")), float)
    np.testing.assert_allclose(decoded - mean, np.array(cells) - mean, atol=1e-3 * scale + abs(np.spacing(mean)))


def test_the_mean_of_a_column_far_from_zero_has_as_many_digits_as_its_deviation():
    column = GaussianColumn("seconds", 1732928287.35, 2043.59, is_integer=True)
    assert column.describe() == "integer: mean 1732928287, standard deviation 2044"
