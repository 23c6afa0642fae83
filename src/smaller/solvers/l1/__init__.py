"""Solvers of the convex problem: a smooth loss, an L1 penalty and perhaps a ridge."""
