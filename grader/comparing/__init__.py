"""Comparing: a solved function beside the reference answer and other right ways to write it."""
