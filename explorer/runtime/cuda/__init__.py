"""Circuits on CUDA by Triton kernels: all units of one shape and level in one launch."""
