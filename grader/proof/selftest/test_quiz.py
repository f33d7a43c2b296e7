"""The quiz: answers that are right and clear, replies in every form, and an end in one line."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from math import inf

import pytest

from grader import places
from grader.chapters import catalogue
from grader.cli import main
from grader.proof.selftest.packs import run_in
from grader.quiz import chapter
from grader.quiz.asked import choice, entries, number, shape
from grader.quiz.chapter import SEEDS, drawn, questions
from grader.quiz.question import asks
from grader.quiz.replies import how, read, written

EVERY = [(stem, one) for stem in catalogue().names() for one in questions(stem)]
IDS = [f"{stem}-{one.name}" for stem, one in EVERY]
NARROW = 60


def asked_of(stem, name, seed):
    return next(one for one in questions(stem) if one.name == name).asked(seed)


# ---- the questions ----


@pytest.mark.parametrize(("stem", "question"), EVERY, ids=IDS)
def test_every_draw_is_clear_and_explained(stem, question):
    assert question.about in catalogue().names()[stem]
    for seed in range(50):
        asked = question.asked(seed)
        values = [asked.answer, *(value for _, value in asked.wrong)]
        for place, value in enumerate(values):
            assert not any(asked.same(value, other, 2.0) for other in values[:place])
        assert asked.wrong, "no mistake is named"
        assert all(says.endswith(".") for says, _ in asked.wrong)
        assert asked.why.endswith((".", "?"))
        assert asked.text.rstrip('"').endswith(("?", "."))
        assert how(asked)


def test_only_numbers_below_0_are_in_parentheses():
    sums = [asked_of("ex01_scores", "small_vectors", seed).why for seed in range(SEEDS)]
    assert any(" + (-" in one for one in sums)
    losses = [asked_of("ex07_model", "loss_by_hand", seed).why for seed in range(SEEDS)]
    assert {one.partition(" = ")[0] for one in losses} >= {"log(13.686) - 0", "log(13.686) - (-1)"}
    for said in [*sums, *losses]:
        assert not re.search(r"(?<!\w)\(\d|[-+] -", said)


@pytest.mark.parametrize(("stem", "question"), EVERY, ids=IDS)
def test_the_answer_as_it_is_written_is_accepted(stem, question):
    for seed in range(50):
        asked = question.asked(seed)
        options = [asked.answer[0], "another"] if asked.kind == "choice" else []
        reply = written(asked, options)
        value = read(asked, reply[0] if asked.kind == "choice" else reply, options)
        assert value is not None
        assert asked.same(value, asked.answer)


@pytest.mark.parametrize(("stem", "question"), EVERY, ids=IDS)
def test_pictures_fit_on_a_narrow_screen(stem, question):
    for seed in range(50):
        paragraphs = question.asked(seed).text.split("\n\n")
        pictures = [one for one in paragraphs if one.startswith("    ")]
        assert all(len(line) <= NARROW for one in pictures for line in one.split("\n"))
        assert all("\n" not in one for one in paragraphs if one not in pictures)


@pytest.mark.parametrize("stem", catalogue().names())
def test_every_chapter_has_questions_and_every_function_a_why(stem):
    found = questions(stem)
    names = catalogue().names()[stem]
    assert sorted(one.about for one in found if one.once_solved) == sorted(names)
    assert {one.about for one in found if not one.once_solved} == set(names)
    assert sum(not one.once_solved for one in found) >= 4
    assert len({one.name for one in found}) == len(found)


@pytest.mark.parametrize("stem", catalogue().names())
def test_another_seed_asks_something_else(stem):
    texts = [[one.asked(seed).text for one in questions(stem)] for seed in range(SEEDS)]
    assert texts[0] == [one.asked(0).text for one in questions(stem)]
    changed = [a != b for a, b in zip(texts[0], texts[1], strict=True)]
    assert sum(changed) >= len(changed) / 2


# worked out on paper from the text that seed 7 asks: the answer, a mistake's value, and its words
ON_PAPER = [
    ("ex01_scores", "small_vectors", (-30,), (-90,), "added up each vector first"),
    ("ex01_scores", "row_times_matrix", (11, -4), (5, -8), "that is x W^T"),
    ("ex01_scores", "bias_of_columns", (5, 21), (5, 13), "bias lies along the row"),
    ("ex02_scaling", "second_row_of_the_document", (0.759, -2.287, -2.134),
     (0.38, -1.14, -1.07), "divided by d_k"),
    ("ex02_scaling", "wrong_divisor", (0.5,), (2,), "before anything is divided"),
    ("ex02_scaling", "why_the_width_of_the_keys", (0.5,), (0.25,), "the variance"),
    ("ex03_masking", "masked_with_zero", (0.376,), (0.624,), "left for itself"),
    ("ex03_masking", "how_many_with_padding", (11,), (3,), "emptied the rows"),
    ("ex03_masking", "why_before_the_softmax", (0.625,), (0.5,), "after the softmax"),
    ("ex04_softmax", "rows_or_columns", (0.953,), (0.5,), "softmax of the column"),
    ("ex04_softmax", "only_differences_count", (0.953,), (0.047,), "That is key 1"),
    ("ex04_softmax", "why_scale_before_the_softmax", (0.105,), (0.1966,), "with the scale"),
    ("ex05_mixing", "two_tokens", (-5.9, 6), (-4.5, 6), "That is the mean"),
    ("ex05_mixing", "a_token_changes", ((2,), (3,), (4,), (5,)), ((2,),), "Later tokens see it"),
    ("ex05_mixing", "why_not_the_transpose", (41,), (44,), "That is W V"),
    ("ex06_heads", "a_piece", (3, 4), (5, 6), "plain reshape"),
    ("ex06_heads", "score_of_head_0", (12.02,), (8.5,), "sqrt(4)"),
    ("ex06_heads", "how_many_parameters", (80,), (60,), "four layers"),
    ("ex07_model", "loss_by_hand", (2.616,), (0.116,), 'the loss of "hate"'),
    ("ex07_model", "a_slow_wave", (0.479,), (0.878,), "Even features are sines"),
    ("ex07_model", "left_to_the_coin", (0.1386,), (1.386,), "That is the sum"),
    ("ex07_model", "largest_logit", ("like",), ("hate",), "Its logit is 2.5"),
    ("ex07_model", "word_of_an_id", ("hate",), ("not",), "logit number 0 is -2.5"),
]  # fmt: skip


@pytest.mark.parametrize(("stem", "name", "answer", "mistake", "says"), ON_PAPER)
def test_answers_worked_out_on_paper(stem, name, answer, mistake, says):
    asked = asked_of(stem, name, 7)
    assert asked.same(asked.answer, answer), asked.answer
    assert not asked.same(asked.answer, mistake)
    assert says in asked.mistake(mistake)


def test_a_question_that_is_never_clear_is_the_authors_mistake():
    @asks("softmax")
    def always_one(_):
        return number("What is 1?", 1, why="It is.", wrong={"That is 1, too.": 1.0})

    with pytest.raises(ValueError, match="always_one: in every draw"):
        always_one.asked(0)


def test_a_draw_that_is_not_clear_is_drawn_again():
    @asks("softmax")
    def sum_or_product(draw):
        a, b = draw.choice([2, 3]), 2
        return number("?", a * b, why="It is.", wrong={"That is the sum.": a + b})

    assert {sum_or_product.asked(seed).answer for seed in range(20)} == {(6.0,)}


# ---- replies ----

NUMBER = number("?", 0.88, digits=2, why="", wrong={"w": 0.5})
WHOLE = number("?", 1024, why="", wrong={"w": 1})
ROW = number("?", (1, -0.5, -inf), digits=1, why="", wrong={"w": (0, 0, 0)})
SHAPE = shape("?", (2, 3), why="", wrong={"w": (3, 2)})
PLACES = entries("?", [0, 2], why="", wrong={"w": [1]})
PAIRS = entries("?", [(2, 0), (0, 1)], why="", wrong={"w": []})
CHOICE = choice("?", "yes", {"no": "w"}, why="")


@pytest.mark.parametrize(
    ("asked", "replies"),
    [
        (NUMBER, ["0.88", ".88", " 0.8798 ", "0,88", "88%", "88 %", "22/25", "0.87", "0.89"]),
        (WHOLE, ["1024", "1024.0", "1,024", "(1024)"]),
        (ROW, ["1 -0.5 -inf", "(1, -.5, minus infinity)", "[1;-0.5;-infinity]",
               "1, \u22120.5 -INF"]),
        (SHAPE, ["2,3", "[2, 3]", "(2,3)", "2 3", "2x3", "torch.Size([2, 3])", "2 \u00d7 3"]),
        (PLACES, ["0 2", "2,0", "[0, 2]", "0, 2, 2"]),
        (PAIRS, ["0,1 2,0", "(2, 0), (0, 1)", "[0,1]; [2,0]", "2 0 0 1"]),
        (CHOICE, ["a", "A", "(a)", "a."]),
    ],
)  # fmt: skip
def test_one_reply_in_many_forms(asked, replies):
    for reply in replies:
        value = read(asked, reply, ["yes", "no"])
        assert value is not None, reply
        assert asked.same(value, asked.answer), reply


@pytest.mark.parametrize(
    ("asked", "replies"),
    [
        (NUMBER, ["0.86", "0.9", "-0.88", "0.5", "8.8"]),
        (WHOLE, ["1023", "1024.5"]),
        (SHAPE, ["3,2", "2,3,1", "[]", "6"]),
        (PAIRS, ["0,1", "none", "1,0 0,2"]),
        (CHOICE, ["b"]),
    ],
)
def test_a_reply_that_is_wrong(asked, replies):
    for reply in replies:
        value = read(asked, reply, ["yes", "no"])
        assert value is not None, reply
        assert not asked.same(value, asked.answer), reply


@pytest.mark.parametrize(
    ("asked", "replies"),
    [
        (NUMBER, ["I do not know", "0.8 0.9", "nan", "1/0", "0.8.8", "1e999999x"]),
        (ROW, ["1", "1 2", "a b c"]),
        (SHAPE, ["two by three", "-1, 3", "2.5"]),
        (PAIRS, ["0,1 2", "everything"]),
        (CHOICE, ["c", "yes or no", "?"]),
    ],
)
def test_a_reply_that_cannot_be_read(asked, replies):
    assert [reply for reply in replies if read(asked, reply, ["yes", "no"]) is not None] == []


def test_an_empty_set_of_entries_has_a_word():
    nobody = entries("?", [], why="", wrong={"w": [0]})
    assert read(nobody, "none", []) == nobody.answer == ()
    assert written(nobody, []) == "none"


def test_answers_as_they_are_written():
    assert written(NUMBER, []) == "0.88"
    assert written(ROW, []) == "1.0, -0.5, -inf"
    assert written(number("?", -0.001, digits=2, why="", wrong={}), []) == "0.00"
    assert written(SHAPE, []) == "[2, 3]"
    assert written(PAIRS, []) == "0,1  2,0"
    assert written(CHOICE, ["no", "yes"]) == "b, yes"


# ---- a sitting ----


@pytest.fixture
def sit(monkeypatch, capsys):
    """Sit for a quiz whose replies come through a pipe."""

    def run(*arguments, replies="", status=0):
        monkeypatch.setattr("sys.stdin", io.StringIO(replies))
        monkeypatch.setenv("COLUMNS", str(NARROW))
        assert main([*map(str, arguments)]) == status
        printed = capsys.readouterr()
        assert "Traceback" not in printed.out + printed.err
        return printed.out + printed.err

    return run


def test_a_right_reply_a_mistake_and_the_answer(sit):
    said = sit("quiz", "wrong", status=2)
    assert "no chapter or exercise is called `wrong`" in said
    # what was asked is in ON_PAPER; the first question of causal_mask is how many are True
    n = asked_of("ex03_masking", "how_many_are_true", 7).wrong[-1][1][0]
    right, without_diagonal = int(n * (n + 1) / 2), int(n * (n - 1) / 2)
    replies = f"{without_diagonal}\n{right}\n\n"
    said = sit("quiz", "causal_mask", "--seed", 7, replies=replies)
    assert "Question 2 of 2: causal_mask" in said
    assert "No. The diagonal counts, too" in said
    assert f"Right: {right}." in said
    assert "The answer: 0  1" in said
    assert said.count("Once more, or Enter for the answer.") == 1
    assert "python -m grader quiz causal_mask --seed 7" in said


def test_two_wrong_replies_end_with_the_answer(sit):
    said = sit("quiz", "causal_mask", "--seed", 7, replies="1\nwhat\n2\n")
    assert said.count("\nNo.") == 2
    assert said.count("That cannot be read. A whole number.") == 1
    assert "The answer: " in said


@pytest.mark.parametrize("replies", ["q\n", "QUIT\n", "", "\n"])
def test_it_ends_with_one_line(sit, replies):
    said = sit("quiz", "ex03_masking", "--seed", 3, replies=replies)
    assert (
        said.splitlines()[-1]
        == "Ended. The same again: python -m grader quiz ex03_masking --seed 3"
    )


def test_ctrl_c_ends_it_with_one_line(monkeypatch, capsys):
    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", interrupted)
    assert main(["quiz", "ex03_masking", "--seed", "3"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1].startswith("Ended. The same again: ")
    assert printed.err == ""


def test_nothing_is_wider_than_the_screen(sit):
    for stem in catalogue().names():
        said = sit("quiz", stem, "--seed", 5, replies="\n" * 40)
        too_wide = [line for line in said.splitlines() if len(line) > NARROW]
        assert [line for line in too_wide if "python -m grader" not in line] == []


def test_letters_that_are_none_do_no_harm():
    command = [sys.executable, "-m", "grader", "quiz", "ex03_masking", "--seed", "3"]
    done = subprocess.run(
        command, cwd=places.ROOT, input=b"\xff\xfe\x00\n\nq\n", capture_output=True
    )
    assert done.returncode == 0
    assert b"Traceback" not in done.stderr
    assert b"That cannot be read." in done.stdout


def test_the_quiz_needs_no_torch():
    code = (
        "import sys; from grader.cli import main; "
        "main(['quiz', 'ex04_softmax']); print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=places.ROOT, input="q\n", capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_the_order_of_choices_depends_on_the_seed(sit):
    orders = {sit("quiz", "predict", "--seed", seed, replies="q\n").split("A letter")[0]
              for seed in range(6)}  # fmt: skip
    assert len(orders) > 1
    again = [sit("quiz", "predict", "--seed", 3, replies="\n") for _ in range(2)]
    assert again[0] == again[1]


def test_a_chapter_without_questions(sit, monkeypatch):
    assert questions("ex99_nothing") == []
    monkeypatch.setattr(chapter, "questions", lambda _: [])
    assert "There are no questions on ex03_masking." in sit("quiz", "ex03_masking")


# ---- where the student stands ----


def test_the_quiz_begins_with_the_chapter_of_the_next_step(sit, submission, solution):
    assert "on ex01_scores" in sit("quiz", replies="q\n")
    stub = (places.EXERCISES / "ex03_masking.py").read_text(encoding="utf-8")
    said = sit("--answers", submission("anna", ex03_masking=stub), "quiz", replies="q\n")
    assert "questions on ex03_masking." in said
    wrong = solution("ex02_scaling").replace("return scores / d_k**0.5", "return scores / d_k")
    said = sit("--answers", submission("berta", ex02_scaling=wrong), "quiz", replies="q\n")
    assert "questions on ex02_scaling." in said


def test_why_asks_about_what_is_solved(sit, submission, solution):
    said = sit("--answers", places.SOLUTIONS, "why", "softmax", "--seed", 4, replies="\n")
    assert "On ex04_softmax.softmax." in said
    assert "The answer: " in said
    wrong = solution("ex02_scaling").replace("return scores / d_k**0.5", "return scores / d_k")
    folder = submission("anna", ex02_scaling=wrong)
    said = sit("--answers", folder, "why", "scale_scores", status=1)
    assert "ex02_scaling.scale_scores is not solved yet" in said
    assert "python -m grader hint scale_scores" in said
    said = sit("--answers", folder, "why", "ex02_scaling", replies="q\n")
    assert "On ex02_scaling.score_spread." in said
    assert "Ended. The same again: python -m grader why score_spread --seed" in said


def test_why_without_anything_solved(sit, tmp_path):
    said = sit("why", "ex01_scores", status=1)
    assert "Nothing in ex01_scores is solved yet" in said
    assert "there is no folder" in sit("--answers", tmp_path / "nowhere", "why", status=2)
    assert "there is no folder" in sit("--answers", tmp_path / "nowhere", "quiz", status=2)


# ---- in a students' pack ----


@pytest.mark.parametrize("stem", catalogue().names())
def test_what_is_drawn_for_a_pack_is_what_the_kit_asks(stem, tmp_path, monkeypatch):
    (tmp_path / f"{stem}.json").write_bytes(drawn(stem))
    computed = questions(stem)
    monkeypatch.setattr(chapter, "DRAWN", tmp_path)
    for mine, its in zip(computed, questions(stem), strict=True):
        assert (mine.name, mine.about, mine.once_solved) == (its.name, its.about, its.once_solved)
        assert [mine.asked(seed) for seed in range(SEEDS)] == [its.asked(s) for s in range(SEEDS)]
    assert json.loads(drawn(stem))


def test_a_pack_asks_the_same_and_holds_no_arithmetic(released):
    assert not (released / "grader" / "quiz" / "questions").exists()
    assert not (released / "grader" / "quiz" / "arithmetic.py").exists()
    for name in ("ex04_softmax", "ex07_model"):
        command = ("-m", "grader", "quiz", name, "--seed", "95")
        in_pack, in_kit = run_in(released, *command), run_in(places.ROOT, *command)
        assert in_pack.returncode == 0, in_pack.stderr
        assert in_pack.stdout == in_kit.stdout
        assert f"--seed {95 % SEEDS}" in in_pack.stdout
    done = run_in(released, "-m", "grader", "why", "softmax")
    assert "is not solved yet" in done.stdout
