"""Processes of ours: how a child begins, how it ends, and what is said of that."""
