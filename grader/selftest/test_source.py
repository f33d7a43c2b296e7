"""Ready-made calls as they stand in the source: found wherever an exercise can reach them."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.answers.source import goes_back_its_own_way, ready_made

FOUND = {
    "in the function": "def softmax(x):\n    return torch.softmax(x, -1)\n",
    "behind a function inside": (
        "def softmax(x):\n    def unused():\n        return None\n    return F.softmax(x, -1)\n"
    ),
    "in a method of a class that is used": (
        "class Rows:\n  def weights(self, x):\n    return x.softmax(-1)\n"
        "def softmax(x):\n  return Rows().weights(x)\n"
    ),
    "in another function that is used": (
        "def other(x):\n    return F.softmax(x, -1)\nasync def softmax(x):\n    return other(x)\n"
    ),
    "under a name of the file": "mine = torch.softmax\ndef softmax(x):\n    return mine(x, -1)\n",
    "imported": (
        "from torch.nn.functional import softmax as mine\ndef softmax(x):\n    return mine(x, -1)\n"
    ),
    "taken apart": (
        "import torch._decomp.decompositions as parts\n"
        "steps = getattr(parts, '_soft' + 'max')\ndef softmax(x):\n    return steps(x, -1, False)\n"
    ),
    "out of the library": (
        "kernel = torch.library.get_kernel('aten::_softmax', 'CPU')\n"
        "def softmax(x):\n    return kernel.call_boxed(x)\n"
    ),
}
ALLOWED = {
    "own steps": "def softmax(x):\n    e = torch.exp(x)\n    return e / e.sum(-1)\n",
    "another function's": (
        "def softmax(x):\n    return x\ndef other(x):\n    return torch.softmax(x, -1)\n"
    ),
    "a name of the way to a module": (
        "from torch.nn.softmax import Something\ndef softmax(x):\n    return Something, softmax\n"
    ),
    "the chapter's own": "import ex04_softmax as it\ndef softmax(x):\n    return it.softmax(x)\n",
    "a method of its own": (
        "class softmax:\n    def softmax(self):\n        return self.softmax\n"
    ),
    "no Python": "def softmax(x:\n",
}


@pytest.fixture
def chapter(tmp_path) -> Path:
    return tmp_path / "ex04_softmax.py"


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_is_ready_made_is_found(chapter, code):
    chapter.write_text(code)
    assert ready_made(chapter, "softmax", "softmax")


@pytest.mark.parametrize("code", ALLOWED.values(), ids=ALLOWED)
def test_what_is_not_is_not(chapter, code):
    chapter.write_text(code)
    assert ready_made(chapter, "softmax", "softmax") == []


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("def softmax(x):\n    return torch.exp(x)\n", False),
        ("class Mine(torch.autograd.Function):\n    pass\n", True),
        ("def softmax(x):\n    x.register_hook(print)\n    return x\n", True),
    ],
)
def test_an_own_way_back_is_told_by_the_source(chapter, code, own):
    chapter.write_text(code)
    assert goes_back_its_own_way([chapter, chapter.with_name("ex05_mixing.py")]) is own
    chapter.write_text("import torch.autograd\n")
    assert goes_back_its_own_way([chapter])
