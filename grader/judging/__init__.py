"""Judging: running checks, recognising slips, finding the culprit, adding up points."""
