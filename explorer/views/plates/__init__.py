"""Plates: sets of equal layers as areas with one cell per layer, which close up when they are folded."""
