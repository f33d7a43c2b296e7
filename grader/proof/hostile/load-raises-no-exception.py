"""Has the worker describe an error at import as one that is no Exception, with lines for a CI's log.

chapter: ex02_scaling
earns: nothing
outcomes: error
never: ::error
"""

import sys

kind = sys.modules["grader.remote.worker"].Worker
kind.raised = lambda self, error: {
    "types": ["Sad"], "text": "sad\n::error title=Grader::cheated\n##vso[task.complete]", "frames": []
}  # fmt: skip
raise ValueError("x")
