"""The message about a name that is not known."""

import pytest

from explorer.errors import MAX_NAMES, DataTypeError, check_type, unknown_name


def test_few_names_are_all_listed():
    assert (
        str(unknown_name("device", "tpu", ("cpu", "cuda")))
        == "no device named 'tpu'; known are: cpu, cuda; did you mean cpu?"
    )
    assert str(unknown_name("pass", "DCE", ())) == "no pass named 'DCE'; known are: (none)"


def test_a_name_with_a_comma_is_quoted_in_lists():
    found = str(unknown_name("column", "age, year", ("sex (m/f)", "age, years", "BMI")))
    assert found == ("no column named 'age, year'; known are: sex (m/f), 'age, years', BMI; did you mean 'age, years'?")


def test_of_many_names_the_closest_matches_are_listed():
    names = [f"merge_{i}" for i in range(MAX_NAMES)] + ["merge_clamps"]
    found = str(unknown_name("pattern", "merge_clmps", names))
    start = f"no pattern named 'merge_clmps'; of {MAX_NAMES + 1} known ones the nearest are: merge_clamps, "
    assert found.startswith(start)
    assert found.count(", ") == 4


def test_of_many_names_none_is_listed_if_none_is_similar():
    names = [f"rule_{i}" for i in range(MAX_NAMES + 1)]
    found = str(unknown_name("pattern", "attention", names, "print the list"))
    none = f"none of the {MAX_NAMES + 1} known ones is similar"
    assert found == f"no pattern named 'attention', and {none}; print the list"


@pytest.mark.parametrize("num_names", [2, MAX_NAMES + 1])
def test_a_name_of_any_length_is_quoted_in_part(num_names):
    error = unknown_name("pass", "x" * 60_000, [f"pass {number}" for number in range(num_names)])
    assert str(error).startswith("no pass named 'xxx")
    assert len(str(error)) < 600


def test_a_class_of_the_same_name_is_told_apart_by_its_module():
    class Path:
        pass

    from pathlib import Path as Wanted

    with pytest.raises(DataTypeError, match=r"must be of type Path; found Path of tests\.test_errors; make one"):
        check_type("the file", Path(), Wanted, "make one")
