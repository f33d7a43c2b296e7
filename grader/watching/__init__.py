"""Watching a student's folder: a save, a verdict, the next step."""
