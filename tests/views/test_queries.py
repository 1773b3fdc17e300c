"""The pad of an image circuit as plain data; circuits without pixels have none."""

from explorer.views import query_view
from tests.views.showing import index_of


def test_the_pad_of_an_image_and_the_images_of_an_answer():
    x, observed = [0.0] * 64, [False] * 64
    x[9], observed[9] = 16.0, True
    answers = [("sample 0", [0.0] * 64), ("sample 1", [1 / 3] * 64)]
    view = query_view(index_of("digits"), x, observed, most=16, number=3, answers=answers, chosen=1, note="Samples.")
    assert view is not None
    assert [one["label"] for one in view["examples"]] == ["0", "1", "3", "7"]
    assert {**view, "examples": []} == {
        "examples": [],
        "version": 1,
        "image": [1, 8, 8],
        "most": 16,
        "step": 1.0,
        "x": [0.0] * 9 + [16.0] + [0.0] * 54,
        "observed": [0] * 9 + [1] + [0] * 54,
        "n": 3,
        "answers": [{"label": "sample 0", "x": [0.0] * 64}, {"label": "sample 1", "x": [0.3333] * 64}],
        "chosen": 1,
        "note": "Samples.",
    }


def test_the_last_pixels_may_be_missing_in_the_circuit_of_a_step():
    row, observed = [2.0] * 60, [True] * 60
    view = query_view(index_of("digits"), row, observed, most=16, answers=[("sample 0", row)])
    assert view is not None
    assert view["x"] == view["answers"][0]["x"] == [2.0] * 60 + [0.0] * 4
    assert view["observed"] == [1] * 60 + [0] * 4
    assert query_view(index_of("digits"), [0.0] * 65, [False] * 65, most=16) is None


def test_variables_that_are_no_pixels_have_no_pad():
    assert query_view(index_of("hmm"), [0.0] * 12, [False] * 12, most=1) is None
