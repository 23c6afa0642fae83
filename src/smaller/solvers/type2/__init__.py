"""Type II estimation: variances of the weights that maximise the evidence."""
