"""One thread for the small circuits of these tests: a second one only costs time. Commands change the number."""

import pytest
import torch

import explorer
from explorer.templates import gallery

FEW = {"batch_size": 8, "max_seconds": 0.2, "precision": 0.5}
"""Settings of a measurement that is over soon."""


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def digits():
    """The recorded circuit of the digits; leave it as it is."""
    return explorer.record(gallery.load_named("digits"))
