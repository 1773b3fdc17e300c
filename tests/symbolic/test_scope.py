"""Scopes: ascending variables, each once."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.errors import ScopeError
from explorer.files import MAX_VARIABLE
from explorer.symbolic import CategoricalLayer, TensorParameter, make_scope, shared_variables, union

scopes = st.lists(st.lists(st.integers(0, 6), unique=True).map(make_scope), max_size=4)


def test_a_number_of_a_variable_beyond_all_tables_and_pictures_is_refused():
    assert make_scope([MAX_VARIABLE]) == (MAX_VARIABLE,)
    with pytest.raises(ScopeError, match=r"at most 1048575, .* found 2147483648: number the variables from 0 without"):
        make_scope([0, 2**31])
    leaf = TensorParameter((1, 2))
    with pytest.raises(ScopeError, match="found 1048576"):
        CategoricalLayer(scope=(MAX_VARIABLE + 1,), num_output_units=1, num_categories=2, probs=leaf)


def test_a_scope_is_sorted():
    assert make_scope([3, 0, 2]) == (0, 2, 3)
    assert make_scope([]) == ()


def test_a_duplicate_variable_is_refused():
    with pytest.raises(ScopeError, match=r"once in a scope; found \(1, 2, 1\)"):
        make_scope([1, 2, 1])


def test_a_negative_variable_is_refused():
    with pytest.raises(ScopeError, match=r"non-negative indices; found \(0, -1\)"):
        make_scope([0, -1])


@pytest.mark.parametrize("given_", [[1.5], ["0"], 3, None])
def test_only_indices_are_variables(given_: Any):
    with pytest.raises(ScopeError):
        make_scope(given_)


def test_numpy_indices_become_python_integers():
    assert [type(v) for v in make_scope(np.array([3, 1]))] == [int, int]  # type: ignore[arg-type]


@given(scopes)
def test_union_has_the_variables_of_any_scope_and_shared_variables_those_of_two(some):
    everything = [v for scope in some for v in scope]
    assert union(some) == tuple(sorted(set(everything)))
    assert shared_variables(some) == tuple(sorted({v for v in everything if everything.count(v) > 1}))


def test_a_scope_shares_all_variables_with_itself():
    assert shared_variables([(0, 1), (0, 1)]) == (0, 1)
    assert shared_variables(iter([(0,), (1,)])) == ()
