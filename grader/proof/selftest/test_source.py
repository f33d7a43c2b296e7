"""Ready-made calls as they stand in the source: found wherever an exercise can reach them."""

from __future__ import annotations

import pytest

from grader.reading.calls import goes_back_its_own_way, names_optimizers, ready_made
from grader.reading.families import Family
from grader.reading.scanner import lines

SOFTMAX = Family("softmax", r"softmax|softmin|attention(?!_mask)")

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
    "in an f-string": "def softmax(x):\n    return f'{(y := torch.softmax(x, -1))}' and y\n",
    "in the format of an f-string": "def softmax(x):\n    f'{x:{torch.softmax(x, -1)}}'\n",
    "in an f-string in another": "def softmax(x):\n    f'''{x!r} {f\"{{ {x.softmax(0)}\"}'''\n",
    "behind strings": "def softmax(x):\n    '\\'' \"'\" rb'\\'' f'{{' '''\n'\\''''; x.softmax(0)\n",
    "behind a comment with a quote": "def softmax(x):\n    # don't\n    return x.softmax(0)\n",
    "by letters of another kind": "def ｓｏｆｔｍａｘ(x):\n    return torch.𝓈oftmax(x)\n",
    "with backslashes": "def \\\nsoftmax(x):\n    return torch\\\n.softmax(x)\n",
    "at the edge, within brackets": "def softmax(x):\n    return (\ntorch.softmax(x))\n",
    "behind a form feed": "\fdef softmax(x):\n    return torch.softmax(x)\n",
    "behind a semicolon": "x = 1; mine = torch.softmax\ndef softmax(x):\n    return mine(x)\n",
    "in a decorator": "@put(torch.softmax)\ndef softmax(x):\n    return x\n",
    "behind a number": "def softmax(x):\n    return 0x1for 1if x else x.softmax(0)\n",
    "by a long chain": "def softmax(x):\n    return a" + ".b" * 1000 + ".softmax(x)\n",
    "in a codec of the answer's own": "# coding: mine\n",
    "in a slow codec": "# coding: punycode\n",
}
CODECS = {
    "latin-1": "# coding: latin-1\ndef softmax(x):\n    'ü'; x.softmax(0)\n".encode("latin-1"),
    "named below": b"#!\xfc\n# vim: fileencoding=latin-1 :\ndef softmax(x):\n    x.softmax(0)\n",
    "utf-7": b"# coding: utf-7\ndef softmax(x):\n    x.+AHMAbwBmAHQAbQBhAHg-(0)\n",
    "escapes": b"# coding: unicode_escape\ndef softmax(x):\n    x.\\x73oftmax(0)\n",
    "a mark": b"\xef\xbb\xbfdef softmax(x):\n    x.softmax(0)\n",
    "lines of the Macintosh": b"# x\rdef softmax(x):\r    x.softmax(0)\r",
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
    "in a string": "def softmax(x):\n    'x.softmax(0)' f'{{x.softmax(0)}}' '''\n\"{x.softmax'''\n",
    "in a comment": "def softmax(x):\n    # x.softmax(0)\n    return x\n",
    "what stands below": "def softmax(x):\n    return x\n\n(x.softmax(0), f'{x.softmax(0)}')\n",
    "in an else at the top": (
        "if x:\n    y = 1\nelse:\n    x.softmax(0)\ndef softmax(x):\n    return x if x else 0\n"
    ),
    "no bytes of UTF-8": "def softmax(x):\n    x.softmax(0)\n# \udcff\n",
}


@pytest.mark.parametrize("code", FOUND.values(), ids=FOUND)
def test_what_is_ready_made_is_found(code):
    assert ready_made(code.encode(), "softmax", SOFTMAX)


@pytest.mark.parametrize("code", ALLOWED.values(), ids=ALLOWED)
def test_what_is_not_is_not(code):
    source = code.encode(errors="surrogateescape")
    assert ready_made(source, "softmax", SOFTMAX) == []


@pytest.mark.parametrize(
    ("code", "own"),
    [
        ("def softmax(x):\n    return torch.exp(x)\n", False),
        ("class Mine(torch.autograd.Function):\n    pass\n", True),
        ("def softmax(x):\n    x.register_hook(print)\n    return x\n", True),
    ],
)
def test_an_own_way_back_is_told_by_the_source(code, own):
    assert goes_back_its_own_way([b"", code.encode()]) is own
    assert goes_back_its_own_way([code.encode(), b"import torch.autograd\n"])


@pytest.mark.parametrize("source", CODECS.values(), ids=CODECS)
def test_a_source_is_decoded_as_python_does(source):
    compile(source, "it", "exec")
    assert ready_made(source, "softmax", SOFTMAX) == ["softmax"]


def test_letters_of_another_kind_may_go_back_their_own_way():
    assert goes_back_its_own_way(["torch.ａｕｔｏｇｒａｄ".encode()])
    assert goes_back_its_own_way([b"# coding: utf-7\ntorch.+AGE-utograd"])
    assert goes_back_its_own_way([b"# coding: mine\n"])
    assert not goes_back_its_own_way([b"# coding: latin-1\n'\xfc'", b"\xff"])


def test_the_words_of_lines():
    source = "if a:  # c\n\tb = [1,\n2]\n \f\\\nf'{x!r:>{w}}{y:=5}{z[1:2]=}' + 1.5e-3j\n"
    assert [(line.indented, " ".join(line.words)) for line in lines(source)] == [
        (False, "if a :"),
        (True, "b = [ 0 , 0 ]"),
        (False, '"" { x ! r { w } } { y } { z [ 0 : 0 ] = } + 0'),
    ]


@pytest.mark.parametrize(
    ("source", "named"),
    [
        ("from torch import optim\n", True),
        ("from torch.optim import Adam\n", True),
        ("def train(model):\n    torch.optim.SGD(model.parameters())\n", True),
        ('def train(model):\n    """One of torch.optim is fine."""  # torch.optim\n', False),
        ("def train(model):\n    optimal = 1\n", False),
        ("# coding: nothing\nimport torch.optim\n", False),
    ],
)
def test_an_optimiser_is_seen_in_code_and_not_in_texts(source, named):
    assert names_optimizers(source.encode()) == named
