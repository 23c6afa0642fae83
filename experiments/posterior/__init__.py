"""Probabilities averaged over the posterior, beside those at the mode; long runs of another sampler to compare with."""
