"""Hearings: a submission is judged from a process of its own, across a pipe, and in time."""
