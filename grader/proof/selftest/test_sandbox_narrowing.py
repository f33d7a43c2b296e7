"""The system's libraries are kept from workers, unless they cannot do their work then."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox import offered

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's own")
KIT = Path(__file__).parents[3]
TRY = """
import os
from pathlib import Path
from grader.sandbox import narrow, offered, visible, prepare_nursery
def lists_libraries():
    os.listdir(libraries)
def works():
    import decimal
    assert decimal.Decimal(1) + 1 == 2
def fails():
    raise ValueError
isolation = offered()
prepare_nursery(isolation)
libraries = os.path.realpath("/usr/lib")
done = narrow(isolation, {deed})
print(done, Path(libraries) in visible.needed(False)[0], Path(libraries) in visible.needed(True)[0])
"""


@pytest.mark.parametrize(
    ("deed", "expected"),
    [
        ("works", "True False True"),
        ("lists_libraries", "False True True"),
        ("fails", "False True True"),
    ],
)
def test_the_libraries_are_shown_only_where_work_needs_them(deed, expected):
    if not offered().landlock:
        pytest.skip("without Landlock the folder's name is there, with less in it")
    done = subprocess.run(
        [sys.executable, "-c", TRY.format(deed=deed)],
        env={**os.environ, "PYTHONPATH": str(KIT)}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.strip() == expected
