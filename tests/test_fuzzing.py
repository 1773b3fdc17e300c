"""Which combinations of parameters every run tries."""

from itertools import combinations, product

import pytest

from tests.fuzzing import covering


@pytest.mark.parametrize("axes", [("ab", "cd", "efgh"), ("abc", "de"), ("abcde",), ("abcd", "ef", "gh", "ij")])
def test_every_value_or_pair_of_values_is_tried_and_the_rest_only_when_fuzzing(axes: tuple[str, ...]):
    for strength in (1, 2):
        cases = covering(*axes, strength=strength)
        assert [case.values for case in cases] == list(product(*axes))
        tried = [case.values for case in cases if not case.marks]
        for chosen in combinations(range(len(axes)), min(strength, len(axes))):
            found = {tuple(row[column] for column in chosen) for row in tried}
            assert found == set(product(*(axes[column] for column in chosen)))
        if strength == 1:
            assert len(tried) == max(map(len, axes))
