"""Attacks on the walls, each run inside them: what a stranger's code could try."""
