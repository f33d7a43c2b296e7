"""Showing what an answer's functions do: a process runs them, this one waits and draws."""
