"""Data for the models: tables in files, the data sets of the papers, and artificial data."""
