"""`finish`: one's own model, what one has built, and everything that may go wrong on the way."""

from __future__ import annotations

import re
from html import unescape

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main
from grader.finishing import paper
from grader.finishing.lesson import lesson
from grader.pictures import curve
from grader.pictures.model import Curve, Picture, Row, pack, unpack
from grader.proof.selftest.packs import run_in

pytestmark = pytest.mark.slow
TABLE = {"not like": "hate", "do like": "like"}
IDS = ("not", "do", "like", "hate")


@pytest.fixture
def finished(capfd, monkeypatch):
    """Run `finish` in so many columns and return the status and what it printed."""

    def run(folder, *arguments, width=80):
        monkeypatch.setenv("COLUMNS", str(width))
        status = main(["--answers", str(folder), "finish", *map(str, arguments)])
        printed = capfd.readouterr()
        assert "Traceback" not in printed.out + printed.err
        assert all(len(line) <= max(width, 88) for line in printed.out.splitlines())
        return status, " ".join((printed.out + printed.err).split())

    return run


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_end_of_the_solutions(finished, width):
    status, said = finished(places.SOLUTIONS, "--text", "tea is what i like", width=width)
    assert status == 0
    assert "on the 4 sentences of chapter 7 and on 1 of your own" in said
    assert "It knows the next word of 5 of 5 sentences." in said
    for phrase, word in (("not like", "hate"), ("do hate", "hate"), ("tea is what i", "like")):
        assert f'your predict: "{phrase}" -> {word}' in said
    assert said.count("head 3") == 3
    assert "Scale: scale_scores, " in said
    assert "ex02_scaling.py:12" in said
    assert "Feed forward: DecoderBlock, " in said
    assert "An encoder beside the decoder" in said
    assert "Attention Is All You Need" in said


def test_sentences_that_contradict_one_another(finished):
    status, said = finished(places.SOLUTIONS, "--text", "not like tea")
    assert status == 0
    assert '"not like" is followed by hate and by tea' in said
    assert "4 of 5 sentences" in said
    assert "and not " in said


def test_of_stubs_nothing_is_called_built(finished):
    status, said = finished(places.EXERCISES)
    assert status == 1
    assert "What you are building" in said
    assert "Scale: scale_scores, not started" in said
    assert "What the figures show and the seven chapters do not build." in said
    assert "All three are built beyond the seven chapters, in ex13_decoder." in said
    assert "now yours" not in said


@pytest.mark.parametrize(
    ("text", "says"),
    [("tea", "2 to 12 words"), ("", "2 to 12 words"), ("a " * 13, "2 to 12 words")],
)
def test_sentences_that_are_none(finished, text, says):
    status, said = finished(places.SOLUTIONS, "--text", text)
    assert status == 2
    assert says in said


def test_too_many_sentences_and_no_folder(finished, tmp_path):
    assert "12 times" in finished(places.SOLUTIONS, *["--text", "a b"] * 13)[1]
    status, said = finished(tmp_path / "nowhere")
    assert status == 2
    assert "there is no folder" in said
    status, said = finished(places.SOLUTIONS, "--save", tmp_path / "it.gif")
    assert status == 2
    assert ".png, .svg or .html" in said


def test_stubs_end_the_picture_and_not_the_list(finished):
    status, said = finished(places.EXERCISES)
    assert status == 1
    assert (
        "your ex07_model.encode_words is not started. What is left to do: python -m grader" in said
    )
    assert "What to read next." in said
    assert "Feed forward: two linear layers" in said
    assert "the models of today" not in said


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("raise RuntimeError('no')", "your ex07_model.train stopped with RuntimeError"),
        ("return 3", "your train gives no list of 200 losses"),
        ("while True: pass", "did not come back in time"),
        ("import os; os._exit(3)", "ended its process by itself, with status 3"),
    ],
)
def test_training_that_comes_to_nothing(body, says, finished, submission, solution):
    text = solution("ex07_model") + f"\n\ndef train(*args, **kwargs):\n    {body}\n"
    status, said = finished(submission("odd", ex07_model=text), "--time-limit", 2)
    assert status == 1
    assert says in said


def test_a_model_that_learns_nothing_is_shown_as_it_is(finished, submission, solution):
    text = solution("ex07_model") + (
        "\n\ndef train(model, ids, targets, steps=200, lr=0.05, lengths=None):\n"
        "    return [1.0] * (steps - 1) + [float('nan')]\n"
    )
    status, said = finished(submission("idle", ex07_model=text))
    assert status == 0
    assert re.search(r"It knows the next word of [0-3] of 4 sentences", said)
    assert ", and not " in said


def test_a_picture_is_saved(finished, tmp_path):
    for theme in ("light", "dark"):
        file = tmp_path / f"{theme}.svg"
        status, said = finished(places.SOLUTIONS, "--save", file, "--theme", theme)
        assert (status, "saved to" in said) == (0, True)
        drawn = unescape(file.read_text(encoding="utf-8")).replace("\N{NO-BREAK SPACE}", " ")
        assert "loss before each step" in drawn
        assert "█" in drawn
        assert "What to read next." in drawn
        assert "nan" not in drawn


def test_the_board_leads_to_the_end(capsys):
    assert main(["--answers", str(places.SOLUTIONS)]) == 0
    assert "the end: python -m grader finish" in capsys.readouterr().out.splitlines()[-1]


def test_a_pack_has_its_end(released):
    done = run_in(released, "-m", "grader", "--answers", str(places.SOLUTIONS), "finish")
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'your predict: "not like" -> hate' in done.stdout


# ---- the parts ----


def test_every_function_of_the_figures_is_one_of_the_kit():
    boxes = [*paper.TODAY, *(part for parts in paper.FIGURES.values() for part in parts)]
    named = [full for part in boxes for full in part.names]
    assert set(named) <= {exercise.full for exercise in catalogue().exercises()}


def test_a_lesson():
    taught = lesson(IDS, TABLE, [("we", "like", "tea"), ("not", "like", "tea")])
    assert list(taught.vocabulary) == ["not", "do", "like", "hate", "we", "tea"]
    assert list(taught.vocabulary.values()) == list(range(6))
    assert [one.then for one in taught.sentences] == ["hate", "like", "tea", "tea"]
    assert (taught.longest, taught.most_right) == (2, 3)
    assert len(taught.torn()) == 1
    assert lesson(IDS, TABLE, []).torn() == []


def test_a_curve_on_the_terminal():
    fall = Curve("loss", [4.0, 2.0, 1.0, 0.0], "step")
    drawn = curve.lines(fall, 60, blocks=False)
    heights = [sum(line.partition("|")[2][i : i + 1] == "#" for line in drawn) for i in range(52)]
    assert heights[0] == curve.HEIGHT
    assert heights == sorted(heights, reverse=True)
    assert drawn[-1].endswith("step 3")
    many = Curve("loss", [float(i) for i in range(1000)], "step")
    for width in (40, 60, 200):
        assert max(map(len, curve.lines(many, width, blocks=True))) <= width
    assert curve.lines(Curve("flat", [0.0], "step"), 40, blocks=True)
    picture = Picture("p", rows=[Row("r", curve=fall)])
    assert unpack(pack(picture)) == picture
