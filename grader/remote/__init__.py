"""The far end: an answer in another process, across a pipe, and what goes through it.

`world` is the judge's side, `worker` the answer's. A plain `pytest` loads none of it.
"""
