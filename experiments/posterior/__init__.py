"""Probabilities averaged over the posterior, beside those at the mode."""
