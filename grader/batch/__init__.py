"""Batches: submissions found, graded one by one or side by side, put together into a run."""
