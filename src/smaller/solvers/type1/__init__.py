"""Type I estimation: modes under priors that are mixtures of normal distributions."""
