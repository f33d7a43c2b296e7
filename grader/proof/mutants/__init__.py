"""Mutants: right answers with one small change each, which the suites have to tell."""
