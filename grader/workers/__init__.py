"""The processes that strangers' answers run in: forked from a clean one, or started afresh."""
