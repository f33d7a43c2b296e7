"""The coach of chapter 11."""

from __future__ import annotations

from grader.coach import Task

TRACK = "beyond"

key_value_cache = Task(
    "KeyValueCache", points=4, difficulty=3, minutes=20, hints=("a.", "b.", "c.")
)
attend_with_cache = Task(
    "attend_with_cache", points=4, difficulty=3, minutes=15, hints=("a.", "b.", "c.")
)
cached_attention = Task(
    "CachedAttention", points=6, difficulty=4, minutes=30, hints=("a.", "b.", "c.")
)
