"""Brings conftest.py, sitecustomize.py, torch.py and others, that Python would load on its way.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""


def scaled_scores(query, key):
    return query @ key.transpose(-1, -2) * 3


# file: conftest.py
# file: sitecustomize.py
# file: usercustomize.py
# file: torch.py
# file: numpy.py
# file: json.py
# file: types.py
# file: grader.py
# file: exercises/__init__.py
# file: pytest.ini
# file: pyproject.toml
# file: ex02_scaling.pth
# file: tests/test_ex02_scaling.py
# file: solutions/ex02_scaling.py
import os

open("/tmp/hostile-was-here", "w").close()
os._exit(0)
