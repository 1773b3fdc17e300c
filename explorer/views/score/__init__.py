"""The score: calls in the order in which they run, on one line, with the tensors between them."""
