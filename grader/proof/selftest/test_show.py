"""`show` as a student uses it: right answers, wrong ones, and those that never come back."""

from __future__ import annotations

import importlib
import json
import shutil
import subprocess
import sys
import time

import pytest
import torch

from grader import places
from grader.chapters import World, catalogue
from grader.cli import main
from grader.judging.judge import Judge
from grader.pictures.drawings import drawings_in
from grader.pictures.model import Picture, unpack
from grader.showing import child
from grader.showing.child import PictureRequest
from grader.showing.sketch import Sketch
from grader.showing.workbench import Stopped, Workbench
from grader.suite.expected import NotRecorded, Tape

pytestmark = pytest.mark.slow
SOFTMAX = "\n\ndef softmax(scores, dim=-1):\n    {}\n"


class Pipe:
    """Keeps what is sent."""

    def __init__(self):
        self.messages = []

    def send_bytes(self, message):
        """Take a message."""
        self.messages.append(json.loads(message))


def drawn_here(request):
    """Draw in this process, which saves the second that another takes to start."""
    pipe = Pipe()
    child._draw_all(request, child.TimedSender(pipe, request.seconds))
    return [unpack(message["done"]) for message in pipe.messages if "done" in message]


@pytest.fixture
def shown_apart(capfd, monkeypatch):
    """Run `show` in 80 columns and return the status and what it printed."""
    monkeypatch.setenv("COLUMNS", "80")

    def run(folder, *arguments):
        status = main(["--answers", str(folder), "show", *map(str, arguments)])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.out + printed.err
        assert all(len(line) <= 88 for line in printed.out.splitlines())
        return status, " ".join(printed.out.split())

    return run


@pytest.fixture
def shown(shown_apart, monkeypatch):
    """Do the same without a process for the answer."""
    monkeypatch.setattr("grader.showing.run.draw", drawn_here)
    return shown_apart


@pytest.mark.parametrize("stem", [chapter.stem for chapter in catalogue().chapters])
def test_every_solution_has_a_picture_and_every_number_in_it_is_right(stem):
    pictures = drawn_here(PictureRequest(stem, str(places.SOLUTIONS), against=True))
    assert [picture.name for picture in pictures] == [e.full for e in catalogue().select(stem)]
    for picture in pictures:
        assert (picture.state, picture.trouble) == ("right", [])
        assert picture.rows
        panels = [p for row in picture.rows for stack in row.stacks for p in stack]
        assert any(panel.source == "yours" for panel in panels)
        assert not any(panel.source == "kit" or any(map(any, panel.wrong)) for panel in panels)
        if any(panel.printed for panel in panels):
            assert "agree with every printed digit" in picture.notes[-1]


def test_the_weights_of_the_documents_with_their_words(shown_apart):
    status, text = shown_apart(places.SOLUTIONS, "attention_weights", "--against")
    assert status == 0
    assert "0.9546█ 0.0454 0.0000" in text
    assert "-1.2905 -inf -inf" in text
    assert "T . ." in text
    assert "printed in document 001 write a poem write a poem write 0.357░ 0.401▒ 0.242░" in text
    assert "write 0.36░ 0.40▒ 0.24░" in text


def test_one_map_for_each_head_and_the_predictions_of_the_model(shown):
    status, text = shown(places.SOLUTIONS, "predict")
    assert status == 0
    assert text.count("head 3") == 4
    for phrase, word in (("not like", "hate"), ("do like", "like")):
        assert f'"{phrase}" head 0 head 1 head 2 head 3' in text
        assert f"prediction: {word} (your predict; document 004 says {word})" in text
    assert "<- differs" not in text


def test_a_wrong_function_is_drawn_and_marked(submission, solution, shown):
    text = solution("ex04_softmax").replace("powers.sum(dim,", "powers.sum(-2,")
    status, said = shown(submission("wrong", ex04_softmax=text), "softmax")
    assert status == 0
    assert "0.424*" in said
    assert "sum to 0.424, 0.469, 2.107" in said
    assert "5 of 9 differ, first at [t_0, t_0]: expected 1, got 0.424053" in said
    assert "pytest tests/test_ex04_softmax.py::softmax" in said


def test_an_earlier_function_is_blamed_by_its_name(submission, solution, shown):
    text = solution("ex02_scaling").replace("d_k**0.5", "d_k")
    folder = submission("early", ex02_scaling=text)
    _, said = shown(folder, "attention_weights")
    assert "first that differs is your ex02_scaling.scale_scores: mend that" in said
    assert "Every value is 0.5 times the right one" in said


def test_heads_that_look_alike_are_seen(submission, solution, shown):
    text = solution("ex06_heads") + (
        "\n\ndef multi_head(query, key, value, n_heads, mask=None):\n"
        "    return attention(query, key, value, mask)\n"
    )
    _, said = shown(submission("alike", ex06_heads=text), "multi_head")
    assert "head 0: " in said
    assert said.count("0.955*") == 2


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("return [1.0]", "expected a tensor, got list of 1. A list came back"),
        ("torch.exp(scores)\n    x = 1", "got None. The function returned None: here it ended"),
        ("return torch.softmax(scores, dim)[:, :2]", "expected the shape [3, 3], got [3, 2]"),
        ("return scores / torch.ones(7)", "stopped with RuntimeError: The size of tensor a (3)"),
        ("raise SystemExit(3)", "stopped with SystemExit: 3"),
    ],
)
def test_answers_that_give_no_matrix_of_weights(body, says, submission, solution, shown):
    text = solution("ex04_softmax") + SOFTMAX.format(body)
    status, said = shown(submission("odd", ex04_softmax=text), "softmax")
    assert says in said
    assert status == int("stopped" in said)
    assert "masked" in said


def test_an_answer_that_ends_its_process(submission, solution, shown_apart):
    text = solution("ex04_softmax") + SOFTMAX.format(
        "print('x' * 99, flush=True)\n    import os; os._exit(3)"
    )
    status, said = shown_apart(submission("exits", ex04_softmax=text), "softmax")
    assert status == 1
    assert "ex04_softmax.softmax ended its process by itself, with status 3" in said
    assert "masked" in said
    assert "xxx" not in said


def test_an_endless_loop_ends_and_what_came_before_is_drawn(submission, solution, shown_apart):
    text = solution("ex04_softmax") + SOFTMAX.format("while True:\n        scores = scores + 1")
    folder = submission("loops", ex04_softmax=text)
    began = time.monotonic()
    status, said = shown_apart(folder, "attention_weights", "--time-limit", 1)
    assert status == 1
    assert time.monotonic() - began < 30
    assert "attention_weights did not come back in time, stuck in ex04_softmax.softmax" in said
    assert "scores = scores + 1" in said
    assert "-2.581 8.850 -6.960" in said


def test_a_file_that_is_not_python(submission, shown):
    status, said = shown(submission("typo", ex04_softmax="def softmax(\n"), "softmax")
    assert status == 1
    assert "ex04_softmax.py, line 1 is not Python yet" in said


def test_not_started_points_to_a_hint(shown):
    status, said = shown(places.EXERCISES, "softmax")
    assert status == 1
    assert said == (
        "ex04_softmax.softmax is not started A first hint: python -m grader hint softmax"
    )


def test_what_is_missing_is_worked_out_by_the_kit_and_said(submission, shown):
    stubs = {
        stem: (places.EXERCISES / f"{stem}.py").read_text(encoding="utf-8")
        for stem in ("ex01_scores", "ex07_model")
    }
    folder = submission("half", **stubs)
    _, said = shown(folder, "softmax")
    assert "0.955" in said
    status, said = shown(folder, "attention")
    assert status == 1
    assert "scaled Q K^T / sqrt(d_k) (the kit's)" in said
    assert "it calls ex01_scores.dot_product_scores, which is not started" in said


def test_a_model_without_training_is_shown_as_such(submission, solution, shown):
    text = solution("ex07_model")
    start = text.index("    velocity = ")
    end = text.index("\n\n\ndef predict(")
    text = text[:start] + '    raise NotImplementedError("ex07_model.train")' + text[end:]
    folder = submission("untrained", ex07_model=text)
    status, said = shown(folder, "NextWordModel")
    assert status == 0
    assert "Not trained: your ex07_model.train is not started" in said
    assert said.count("head 3") == 4
    _, said = shown(folder, "predict")
    assert "Trained by the kit: your ex07_model.train is not started." in said


def test_ones_own_words(shown):
    _, once = shown(places.SOLUTIONS, "attention_weights", "--text", "not so bad", "--against")
    _, again = shown(places.SOLUTIONS, "attention_weights", "--text", "not so bad", "--against")
    assert once == again
    assert "not so bad" in once
    assert "vectors of your words are random" in once
    assert "No document prints numbers of your words" in once
    _, said = shown(places.SOLUTIONS, "cross_attention", "--text", "not so bad")
    assert "vectors of your words are random" in said
    _, said = shown(places.SOLUTIONS, "score_spread", "--text", "not so bad")
    assert "--text changes nothing" in said


@pytest.mark.parametrize("name", ["predict", "positional_encoding", "encode_words"])
def test_words_without_random_vectors_are_not_said_to_have_them(shown, name):
    _, said = shown(places.SOLUTIONS, name, "--text", "not like")
    assert "like" in said
    assert "random" not in said


@pytest.mark.parametrize("name", ["predict", "train"])
def test_unknown_words_are_told_before_the_picture(shown, name):
    _, said = shown(places.SOLUTIONS, name, "--text", "not so bad so")
    assert "Unknown words: so, bad. Known: not. The model's vocabulary is not, do, like" in said
    assert said.index("Unknown words") < said.index("Trained for")
    _, said = shown(places.SOLUTIONS, name, "--text", "so")
    assert "Unknown words: so. Known: none." in said


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["softmx"], "did you mean `softmax`"),
        (["softmax", "--save", "x.pdf"], "ends in .png, .svg or .html"),
        (["softmax", "--save", "no/such/place/x.svg"], "there is no folder"),
        (["softmax", "--text", " "], "a text is of words"),
        (["softmax", "--text", "word " * 33], "at most 32 words"),
        (["softmax", "--answers", "no/such/folder"], "there is no folder"),
    ],
)
def test_bad_arguments(arguments, says, capsys, monkeypatch):
    monkeypatch.setattr("grader.showing.run.draw", drawn_here)
    assert main(["show", *arguments]) == 2
    printed = capsys.readouterr()
    assert says in printed.err
    assert "Traceback" not in printed.err


@pytest.mark.parametrize("ending", ["svg", "html"])
def test_saving(ending, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("grader.showing.run.draw", drawn_here)
    file = tmp_path / f"picture.{ending}"
    assert main(["--answers", str(places.SOLUTIONS), "show", "softmax", "--save", str(file)]) == 0
    assert capsys.readouterr().out == f"saved to {file}\n"
    text = file.read_text(encoding="utf-8")
    assert "0.955" in text
    assert "poem" in text


def test_a_chapter_without_pictures_still_works(tmp_path):
    for name in ("exercises", "solutions", "tests", "grader"):
        shutil.copytree(places.ROOT / name, tmp_path / name,
                        ignore=shutil.ignore_patterns("__pycache__", "selftest"))  # fmt: skip
    coach = tmp_path / "grader" / "coach" / "ex04_softmax.py"
    text = coach.read_text(encoding="utf-8")
    coach.write_text(text[: text.index("# What `grader show` draws")], encoding="utf-8")
    command = [sys.executable, "-m", "grader", "show", "ex04_softmax"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0
    assert "There is no picture for ex04_softmax.softmax." in done.stdout
    assert not done.stderr


def test_a_slip_that_the_documents_numbers_tell_is_wrong_in_the_picture():
    """No wrong answer may break the drawing either."""
    known, states, told = catalogue(), {}, set()
    for exercise in known.exercises():
        if exercise.stem not in ("ex03_masking", "ex04_softmax"):
            continue
        printed = [check for check in exercise.checks if "printed_in_002" in check.name]
        for slip in exercise.task.slips:
            name = f"{exercise.name}, {slip.name}"
            states[name] = _drawn(known, exercise, slip.wrong)
            judge = Judge(
                known, World(places.SOLUTIONS, known.names()),
                replaced={exercise.name: slip.wrong},
            )  # fmt: skip
            if not all(judge.judge(check).passed for check in printed):
                told.add(name)
    assert len(states) > 100
    assert set(states.values()) <= {"right", "wrong", "stopped"}
    assert len(told) > 40
    # which is off by less than the three digits that a picture shows
    assert {name for name in told if states[name] == "right"} == {"softmax, e_rounded"}


def _drawn(known, exercise, wrong):
    world = World(places.SOLUTIONS, known.names())
    for chapter in known.chapters:
        world.load(chapter.stem)
    picture = Picture(exercise.full)
    bench = Workbench(known, world, exercise.full, lambda _: None)
    sketch = Sketch(bench, picture, None, True)
    drawing = drawings_in(importlib.import_module(f"grader.coach.{exercise.stem}"))[exercise.name]
    torch.manual_seed(0)
    try:
        with world.replaced({exercise.full: wrong}):
            drawing(sketch)
            sketch.finish()
    except Stopped:
        return "stopped"
    return picture.state


def test_what_a_pack_does_not_hold_may_be_asked_for_again():
    tape = Tape({"held": [1]})

    def lacking():
        raise NotRecorded

    for _ in range(2):
        with pytest.raises(NotRecorded):
            tape.take("lacking", lacking)
    assert tape.take("held", lacking) == 1


def test_what_each_head_looks_at_while_it_writes_are_its_weights(monkeypatch):
    from grader.coach.ex13_decoder import _learned, _Looks

    world = World(places.SOLUTIONS, catalogue().names())
    decoder, write = (getattr(world.load("ex13_decoder"), name) for name in ("Decoder", "generate"))
    softmax, made = world.load("ex04_softmax").softmax, []

    def noted(scores, dim=-1):
        made.append(softmax(scores, dim))
        return made[-1]

    for module in world.modules.values():
        if getattr(module, "softmax", None) is softmax:
            monkeypatch.setattr(module, "softmax", noted)
    model = _learned(decoder, 5, heads=2)
    made.clear()
    with _Looks(2) as seen:
        assert write(model, torch.zeros(1, 1).long(), 4).tolist() == [[0, 1, 2, 3, 4]]
    shown = seen.shown(4)
    assert len(made) == 4
    for weights in made:
        n = weights.shape[-1]
        assert torch.allclose(weights.reshape(2, n), shown[:, n - 1, :n])
        assert not shown[:, n - 1, n:].any()


def test_a_loop_ends_also_where_nobody_listens_any_more(tmp_path, monkeypatch):
    ended = []
    monkeypatch.setattr(child.os, "_exit", ended.append)
    clock = child.TimedSender(Closed(), seconds=0.1)
    clock.world = World(tmp_path, catalogue().names())
    with pytest.raises(BrokenPipeError):
        clock._late("ex04_softmax.softmax")
    assert ended == [0]


class Closed:
    """A line with nobody at its other end."""

    def send_bytes(self, message):
        """Fail as a pipe does."""
        raise BrokenPipeError(message)
