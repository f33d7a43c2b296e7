"""The coach of chapter 10."""

from __future__ import annotations

from grader.coach import Task

TRACK = "beyond"

causal_mask_at = Task("causal_mask_at", points=2, difficulty=2, minutes=5, hints=("a.", "b.", "c."))
window_mask = Task("window_mask", points=3, difficulty=3, minutes=10, hints=("a.", "b.", "c."))
window_attention = Task("window_attention", points=6, difficulty=4, minutes=30, hints=("a.", "b.", "c."))
