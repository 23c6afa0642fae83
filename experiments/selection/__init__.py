"""Which features, with what error: comparisons with peer packages, and words of texts."""
