"""Choosing what a model leaves open: paths, cross-validation, evidence, kernel widths, rankings."""
