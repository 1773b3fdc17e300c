"""From PyTorch to a tensor graph and back."""
