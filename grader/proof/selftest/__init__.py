"""The kit's own tests: run by .ci/run, not by a student's plain pytest."""
