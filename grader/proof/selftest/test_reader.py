"""What reads submissions is ended when it takes too much, and leaves nothing behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import nbformat
import pytest

from grader import places
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Unusable
from grader.batch.submissions import Submission

TEXT = b"def softmax(x):\n    return x\n"
on_posix = pytest.mark.skipif(os.name == "nt", reason="limits of POSIX")
WITHOUT_TORCH = """
import sys
from pathlib import Path
sys.modules["torch"] = None
import grader.batch.reader
found = grader.batch.reading.read(Path(sys.argv[1]), {"ex04_softmax": ["softmax"]})
print(found["ex04_softmax.py"].decode())
"""
READS = """
import sys
from pathlib import Path
from grader.batch.reader import SubmissionReader
if __name__ == "__main__":
    with SubmissionReader() as reader:
        reader.read(Path(sys.argv[1]))
        print(reader.pid, flush=True)
        reader.read(Path(sys.argv[2]))
"""


def book(*cells):
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    return nbformat.writes(made)


def zipped(path, **files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for stem, data in files.items():
            archive.writestr(f"{stem}.ipynb" if isinstance(data, str) else f"{stem}.py", data)
    return path


@pytest.fixture
def good(tmp_path) -> Path:
    return zipped(tmp_path / "good.zip", ex04_softmax=TEXT)


@pytest.fixture
def slow(tmp_path) -> Path:
    """Notebooks that take a minute: many, and each with as much code as is read."""
    code = book(*["x = [" + "[], " * 24_000 + "]"] * 10)
    return zipped(tmp_path / "slow.zip", **{f"ex{n}_slow": code for n in range(10, 60)})


def test_plain_files_need_no_process():
    with SubmissionReader() as reader:
        assert set(reader.read(places.SOLUTIONS)) == {p.name for p in places.SOLUTIONS.glob("ex*")}
        assert reader.pid is None


def test_one_process_reads_what_is_handed_in(tmp_path, good):
    bad = tmp_path / "bad.zip"
    bad.write_bytes(b"PK")
    notebook = zipped(tmp_path / "notebook.zip", ex04_softmax=book("def softmax(): return 3"))
    with SubmissionReader() as reader:
        assert reader.read(good) == {"ex04_softmax.py": TEXT}
        first = reader.pid
        with pytest.raises(Unusable, match="damaged"):
            reader.read(bad)
        assert b"return 3" in reader.read(notebook)["ex04_softmax.py"]
        assert reader.pid == first is not None
    assert reader.pid is None
    assert Submission("good", good).files() == {"ex04_softmax.py": TEXT}


@on_posix
def test_what_takes_too_long_is_ended(good, slow):
    with SubmissionReader(seconds=1) as reader:
        with pytest.raises(Unusable, match="more than 10 s or 1 GB: hand in plain"):
            reader.read(slow)
        assert reader.read(good) == {"ex04_softmax.py": TEXT}


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere addresses are not limited")
def test_what_takes_too_much_memory_is_ended(tmp_path, good):
    data = '{"cells": [' + "[[[]]], " * 1_000_000 + "[]]}"
    large = zipped(tmp_path / "large.zip", **{f"ex{n}_large": data for n in range(10, 17)})
    with SubmissionReader(memory=300 * 2**20) as reader:
        with pytest.raises(Unusable, match="more than 10 s or 1 GB"):
            reader.read(large)
        assert reader.read(good) == {"ex04_softmax.py": TEXT}
    with SubmissionReader() as reader, pytest.raises(Unusable, match="more than 2000 cells"):
        reader.read(large)


@on_posix
def test_a_process_that_was_lost_between_two_is_replaced(good):
    with SubmissionReader() as reader:
        reader.read(good)
        os.kill(reader.pid, signal.SIGKILL)
        reader._process.join()
        assert reader.read(good) == {"ex04_softmax.py": TEXT}


def test_reading_imports_no_torch(tmp_path):
    path = zipped(tmp_path / "notebook.zip", ex04_softmax=book("def softmax(): return 3"))
    command = [sys.executable, "-c", WITHOUT_TORCH, str(path)]
    assert "return 3" in subprocess.run(command, capture_output=True, text=True, check=True).stdout


@on_posix
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "interrupted"])
def test_nothing_is_left_behind(tmp_path, good, slow, number):
    script = tmp_path / "reads.py"
    script.write_text(READS)
    command = [sys.executable, str(script), str(good), str(slow)]
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with subprocess.Popen(command, env=path, start_new_session=True, **pipes) as program:
        reader = int(program.stdout.readline())
        time.sleep(0.3)  # it reads
        os.kill(program.pid, number)
    deadline = time.monotonic() + 60
    while lives(reader) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not lives(reader)


def lives(process):
    """Tell whether a process is there that is not only waited for."""
    told = subprocess.run(["ps", "-o", "stat=", "-p", str(process)], capture_output=True, text=True)
    return told.stdout.strip() not in ("", "Z", "Z+")
