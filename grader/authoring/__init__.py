"""Writing the four files of a new chapter."""
