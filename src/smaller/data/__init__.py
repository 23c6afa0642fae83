"""Data for the models: files and tables, data sets of the papers, artificial data."""
