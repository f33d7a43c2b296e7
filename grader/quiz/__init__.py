"""The quiz: questions to be answered in the head or by hand; never scored, and nothing is kept.

A chapter's questions stand in `questions/<stem>.py`; a chapter without such a file has none. A
question draws small numbers, and works out its answer, and what usual mistakes give, in Python's
floats: neither a student's code nor a solution has a part in it. That arithmetic would give answers
away, so a students' pack has in its place what it gave for every seed (`drawn/<stem>.json`).
"""
