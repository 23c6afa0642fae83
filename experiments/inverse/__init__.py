"""Simulations of sparse inverse problems: ``python -m experiments.inverse.studies``."""
