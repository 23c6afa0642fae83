"""The papers' experiments, repeated: one folder per paper, ``python -m experiments [paper ...] [--quick]``."""
