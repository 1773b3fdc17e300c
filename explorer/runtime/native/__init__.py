"""Kernels in C++."""
