"""Variables, operators and types: the vocabulary of the tensor level."""
