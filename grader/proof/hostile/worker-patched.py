"""Finds the worker in its own process and replaces what it does for a call.

chapter: ex02_scaling
earns: nothing
outcomes: failed, error
"""

import gc

for found in gc.get_objects():
    if type(found).__name__ == "Worker":
        kind = type(found)
        kind.on_call = lambda self, message: ({"value": True, "passed": True}, None)
        kind.raised = lambda self, error: {"types": []}
        kind.on_backward = lambda self, message: ({"value": {"l": []}}, None)


def scaled_scores(query, key):
    raise ValueError("never seen")
