"""`pytest -x --pdb`: the debugger stands in the student's code, with the failing inputs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from grader import places


def debugged(folder: Path, suite: str, *typed: str, only: str = "") -> str:
    """Type something at the debugger's prompt; return what stands on the screen after it opens."""
    # -rN: where CI is set, pytest's closing lines repeat the whole message
    command = [sys.executable, "-m", "pytest", "-x", "--pdb", "-rN", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, f"--answers={folder}", f"tests/test_{suite}.py", "-k", only],
        input="\n".join([*typed, "q", ""]), cwd=places.ROOT, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode in (1, 2), done.stdout + done.stderr
    return done.stdout


def test_after_a_wrong_value_the_inputs_are_at_hand(submission, solution):
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    folder = submission("wrong", ex04_softmax=text)
    typed = ["p list(scores.shape)", "p (got.sum(-2) - 1).abs().max() < 1e-5",
             "p (expected.sum(-1) - 1).abs().max() < 1e-5", "again()", "n", "n", "n",
             "p list(peak.shape)", "q", "p list(got.shape)"]  # fmt: skip
    said = debugged(folder, "ex04_softmax", *typed)
    message, _, session = said.partition("entering PDB")
    assert "At hand: scores; got and expected: the output." in message
    assert f"> {folder / 'ex04_softmax.py'}(" in session
    assert "-> def softmax(scores" in session
    assert "[5, 7]" in session
    assert session.count("tensor(True)") == 2
    assert "[5, 1]" in session
    assert session.count("[5, 7]") == 2


def test_an_error_is_looked_at_where_the_students_code_stopped(submission, solution):
    # what is raised inside of PyTorch's own Python code
    text = solution("ex04_softmax").replace(
        "    powers = torch.exp", "    torch.nn.functional.linear(peak, 1)\n    powers = torch.exp"
    )
    folder = submission("raises", ex04_softmax=text)
    session = debugged(folder, "ex04_softmax", "p list(scores.shape)").partition("PDB post")[2]
    assert "-> torch.nn.functional.linear(peak, 1)" in session
    assert "[5, 7]" in session


def test_of_a_module_it_is_forward(submission, solution):
    text = solution("ex06_heads").replace("return self.w_o(", "return 2 * self.w_o(")
    assert text != solution("ex06_heads")
    folder = submission("module", ex06_heads=text)
    typed = ["p 'width', self.d_model, x.shape[-1]", "again()", "p 'again', self.d_model", "q"]
    said = debugged(folder, "ex06_heads", *typed, only="module_values")
    assert "def forward(" in said
    assert "At hand: self, x; got and expected: the output of layer(x)." in said
    assert "('width', 16, 16)" in said
    assert "('again', 16)" in said


def test_where_no_code_is_there_no_debugger_opens(submission):
    stub = (places.EXERCISES / "ex04_softmax.py").read_text(encoding="utf-8")
    for text in (stub, "def softmax("):
        folder = submission(f"none_{len(text)}", ex04_softmax=text)
        assert "PDB" not in debugged(folder, "ex04_softmax")
