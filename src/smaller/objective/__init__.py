"""Objectives: likelihood x prior on a design, callable at any point, each with its certificate."""
