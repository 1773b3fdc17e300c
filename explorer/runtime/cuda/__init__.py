"""Circuits on CUDA by Triton kernels: all kernel calls of one shape and level in one launch."""
