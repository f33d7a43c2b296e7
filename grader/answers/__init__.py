"""Reaching an answer: the student's own folder, run in this process.

Nothing in here knows what is right.
"""
