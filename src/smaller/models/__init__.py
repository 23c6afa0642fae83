"""The models: parameters, documentation with the formula, and the wiring from input to fitted attributes."""
