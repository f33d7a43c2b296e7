"""Sources and notebooks that are made to be slow are read within 1 GB and 10 s of the processor."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from grader.written.read import LONGEST_CELL

pytest.importorskip("resource", reason="limits of POSIX")

MEBIBYTE = 2**20
# it imports no torch, so that the limits are those of what is tested
LIMITED = """
import resource, sys
{imports}
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))
if sys.platform == "linux":
    resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))
data = sys.stdin.buffer.read()
{call}
"""
SOURCE = LIMITED.format(
    imports="from grader.reading.calls import goes_back_its_own_way, ready_made\n"
    "from grader.reading.families import Family",
    call='ready_made(data, "f", Family("softmax", "softmax")), goes_back_its_own_way([data])',
)
NOTEBOOK = LIMITED.format(
    imports="from grader.written.read import chapter_source",
    call="""
try:
    chapter_source(data, "ex04_softmax.ipynb", ["softmax"])
except ValueError as problem:
    assert "ex04_softmax" in str(problem)
""",
)
CODECS = ("punycode", "idna", "utf-7", "unicode_escape", "gb18030", "rot13", "hex", "none")


def filled(unit, before=b"", after=b""):
    """Repeat something until the whole is as large as a file may be."""
    times = (MEBIBYTE - len(before) - len(after)) // len(unit)
    return before + unit * times + after


SOURCES = {
    "a line of names": filled(b"a,", b"def f():\n x = ["),
    "a line of spaces": filled(b" ", b"def f():\n return", "ü".encode()),
    "brackets": filled(b"("),
    "quotes": filled(b'"'),
    "strings without an end": filled(b'"a\n'),
    "escapes": filled(b"\\a", b"'''"),
    "backslashes": filled(b"\\"),
    "f-strings in f-strings": filled(b'f"{'),
    "formats in formats": filled(b"{x:", b"f'"),
    "a chain of names": filled(b".b", b"def f():\n a"),
    "a long owner of many names": b"".join(
        (b"def f():\n ex01_", b"a" * 980_000, *(b".b%x" % i for i in range(4_000)))
    ),
    "signs that combine": filled("\u0301\u0316".encode(), b"x = a"),
    "functions": b"".join(b"def f%x():f%x\n" % (i, i + 1) for i in range(50_000)),
    "different names": b"def f():" + b";".join(b"n%x" % i for i in range(140_000)),
    "decorators": filled(b"@a\n"),
    "semicolons": filled(b"a;"),
    "deeper and deeper": b"\n".join(b" " * i + b"if x:" for i in range(1400)),
    "a codec's name": filled(b"a", b"# coding: "),
    "names of codecs": filled(b"coding:", b"#"),
    "null": bytes(MEBIBYTE),
} | {codec: filled(b"xn--a-\xc3", f"# coding: {codec}\n".encode()) for codec in CODECS}


def book(cell, times=10):
    cells = [{"cell_type": "code", "source": cell[:LONGEST_CELL]}] * times
    return json.dumps({"cells": cells}).encode()


NOTEBOOKS = {
    "nested JSON": b"[" * 8 * MEBIBYTE,
    "long numbers": b'{"cells": [' + b"1" * 7 * MEBIBYTE + b"]}",
    "many lines": b'{"cells": [{"cell_type": "code", "source": [' + b'"",' * 2_000_000 + b'""]}]}',
    "many cells": book("def softmax(): return " + "a+" * 200 + "a", times=2000),
    "lists": book("x = [" + "[]," * 33_000 + "]"),
    "nested expressions": book("x = " + "-" * 99_000 + "1"),
    "a chain of names": book("x = a" + ".b" * 49_000),
    "a statement beside the other": book("a = 1; " * 490 + "b = '" + "x" * 90_000 + "'"),
    "nested cell magics": book("%%time\n" * 14_000),
    "lines joined to magics": book("%t\\\n" * 24_000),
    "strings without an end": book("!\n" + '"a\n' * 33_000),
    "nested blocks": book("\n".join(" " * i + "if a:" for i in range(400))),
}


def limited(script, data):
    done = subprocess.run([sys.executable, "-c", script], input=data, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()[-500:]


@pytest.mark.parametrize("source", SOURCES.values(), ids=SOURCES)
def test_a_hostile_source_is_looked_through(source):
    assert len(source) <= MEBIBYTE
    limited(SOURCE, source)


@pytest.mark.parametrize("notebook", NOTEBOOKS.values(), ids=NOTEBOOKS)
def test_a_hostile_notebook_is_read(notebook):
    limited(NOTEBOOK, notebook)
