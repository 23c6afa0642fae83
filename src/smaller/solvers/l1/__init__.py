"""Solvers of the convex problem: a smooth loss and an L1 penalty, with or without a ridge."""
