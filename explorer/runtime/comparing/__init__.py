"""Comparing tensors on CUDA with copies of them: all in one launch of a kernel."""
