"""Watching as a student does: on a terminal, with saves, slips, keys, and what goes wrong."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from grader import places

pytest.importorskip("pyte", reason="a terminal to look at is in the extra `dev`")
if not sys.platform.startswith("linux"):
    pytest.skip("a terminal is played here on Linux only", allow_module_level=True)

from grader.proof.selftest.terminal import Terminal, left_of

pytestmark = pytest.mark.slow
STEM = "ex04_softmax"
SOLVED = (places.SOLUTIONS / f"{STEM}.py").read_text(encoding="utf-8")
WRONG = SOLVED.replace("return softmax(scores)", "return softmax(scores, -2)")
BEFORE = ("ex01_scores", "ex02_scaling", "ex03_masking")
NOT_WELL = "    while True:\n        try:\n            while True:\n                pass\n"
SWALLOWS = NOT_WELL + "        except BaseException:\n            pass\n"


def softmax(body):
    return f"{SOLVED}\n\ndef softmax(scores, dim=-1):\n{body}\n"


@pytest.fixture(scope="module")
def answers():
    """A folder in which the first three chapters are solved; its path is short, to fit a line."""
    with tempfile.TemporaryDirectory(prefix="w") as space:
        folder = Path(space) / "exercises"
        shutil.copytree(places.EXERCISES, folder, ignore=shutil.ignore_patterns("__pycache__"))
        for stem in BEFORE:
            shutil.copy(places.SOLUTIONS / f"{stem}.py", folder)
        yield folder


@pytest.fixture(scope="module")
def running(answers):
    """The watch command, running."""
    with watching(answers, 1) as terminal:
        terminal.until(r"total +32 of 100 points")
        yield terminal


@contextlib.contextmanager
def watching(answers, limit):
    terminal = Terminal("--answers", answers, "watch", "--time-limit", limit)
    yield terminal
    terminal.process.kill()
    terminal.process.wait()


@pytest.fixture
def watched(running, answers):
    """The same, with chapter 4 as it was at first."""
    return begun_anew(running, answers)


@pytest.fixture
def patient(answers):
    """The same, with a time limit that no test waits for."""
    with watching(answers, 300) as terminal:
        terminal.until(r"total +\d+ of 100 points")
        yield begun_anew(terminal, answers)


def begun_anew(terminal, answers):
    save(answers, f"{STEM}.py", "# nothing\n")
    terminal.until(rf"next .*{STEM}.py:1 +has no softmax")
    save(answers, f"{STEM}.py", (places.EXERCISES / f"{STEM}.py").read_text(encoding="utf-8"))
    terminal.until(r"next +softmax, ")
    return terminal


def save(answers, name, text):
    """Save as careful editors do: beside the file, then in its place."""
    beside = answers / f".{name}.{os.getpid()}~"
    beside.write_text(text, encoding="utf-8")
    os.replace(beside, answers / name)


def test_the_verdict_the_message_the_board_and_the_next_step(watched, answers):
    save(answers, f"{STEM}.py", WRONG)
    seen = watched.until(r"attention_weights is wrong: \d+ of \d+ checks fail")
    assert f"{STEM}.py saved at " in seen
    assert "softmax is solved" in seen
    assert "ex04_softmax.attention_weights: " in seen
    assert "Likely slip  Your columns sum to 1, not your rows" in seen
    assert re.search(r"ex04_softmax +8 of 16 +solved: softmax +wrong: attention_weights", seen)
    assert re.search(r"next +attention_weights, .*ex04_softmax.py:\d+\n", seen)
    assert re.search(
        r" h +hint +o +open next +g +go on +a +run all +l +list +m +message +q +quit", seen
    )
    save(answers, f"{STEM}.py", SOLVED)
    seen = watched.until("attention_weights is solved")
    assert "Likely slip" not in seen
    assert re.search(r"ex04_softmax +16 of 16 +solved: all", seen)
    assert re.search(r"next +linear_combination, .*ex05_mixing.py:\d+\n", seen)


def test_a_save_in_place(watched, answers):
    (answers / f"{STEM}.py").write_text(SOLVED, encoding="utf-8")
    watched.until("softmax and attention_weights are solved")


def test_a_save_in_several_goes_is_one(watched, answers):
    path = answers / f"{STEM}.py"
    path.write_text("", encoding="utf-8")
    time.sleep(0.1)
    with path.open("w", encoding="utf-8") as file:
        file.write(SOLVED)
        file.flush()
        watched.until("softmax and attention_weights are solved")
    # neither the empty file nor the closed one was tried
    seen = watched.look(1.5)
    assert "softmax and attention_weights are solved" in seen
    assert "the same as before" not in seen
    path.write_text(SOLVED, encoding="utf-8")
    seen = watched.until(rf"{STEM}.py saved at [\d:]+, the same as before")
    assert "softmax and attention_weights are solved" in seen


def test_polish_can_wait(watched, answers):
    in_float32 = "_right = softmax\n\n\ndef softmax(scores, dim=-1):\n"
    text = f"{SOLVED}\n\n{in_float32}    return _right(scores.float(), dim)\n"
    save(answers, f"{STEM}.py", text)
    seen = watched.until(r"next +softmax, \d+ things to polish, ")
    assert re.search(r"softmax is right: \d+ things to polish", seen)
    assert "This can wait: you may go on." in " ".join(seen.split())
    watched.press("g")
    watched.until(r"next +linear_combination, ")
    watched.press("g")
    watched.until(r"next +softmax, \d+ things to polish")


def test_what_waits_is_not_called_wrong(watched, answers):
    save(answers, f"{STEM}.py", softmax("    return scores\n"))
    seen = watched.until("attention_weights waits for ex04_softmax.softmax")
    assert "softmax is wrong" in seen
    assert "waiting for softmax: attention_weights" in seen
    assert re.search(r"total .* 1 wrong, 1 waiting", seen)


def test_later_chapters_are_tried_when_an_earlier_one_changes(watched, answers):
    stub = (answers / "ex05_mixing.py").read_text(encoding="utf-8")
    shutil.copy(places.SOLUTIONS / "ex05_mixing.py", answers)
    watched.until("attention, self_attention and cross_attention wait for")
    save(answers, f"{STEM}.py", SOLVED)
    seen = watched.until("ex05_mixing: attention, self_attention and cross_attention are solved")
    assert "softmax and attention_weights are solved" in seen
    save(answers, f"{STEM}.py", "def softmax(")
    seen = watched.until("waiting for ex04_softmax.py: all")
    assert "ex04_softmax.py does not run yet" in seen
    assert re.search(r"next .*ex04_softmax.py:1 +is not Pyth", seen)
    save(answers, f"{STEM}.py", SOLVED)
    watched.until("ex05_mixing: linear_combination, mix_values, attention, self_attention and")
    # chapters that nobody has begun use it as well
    assert not re.search(r"beyond +[\d.]+ of", watched.look(3))
    save(answers, "ex05_mixing.py", stub)
    watched.until(r"ex05_mixing.py saved at")


def test_a_save_before_all_was_tried_once(answers, tmp_path):
    folder = shutil.copytree(answers, tmp_path / "a")
    shutil.copy(places.EXERCISES / f"{STEM}.py", folder)
    mixing = (places.SOLUTIONS / "ex05_mixing.py").read_text(encoding="utf-8")
    twice = "\n\n_right = mix_values\n\n\ndef mix_values(weights, value):\n"
    save(folder, "ex05_mixing.py", f"{mixing}{twice}    return 2 * _right(weights, value)\n")
    scores = (folder / "ex01_scores.py").read_text(encoding="utf-8")
    slow = "\n\nimport time\n_right = dot_product\n\n\ndef dot_product(a, b):\n"
    slow += "    time.sleep(0.1)\n    return _right(a, b)\n"
    save(folder, "ex01_scores.py", scores + slow)
    terminal = Terminal("--answers", folder, "watch")
    try:
        terminal.until("running ex01_scores.dot_product")
        save(folder, f"{STEM}.py", SOLVED)
        terminal.until("softmax and attention_weights are solved")
        seen = terminal.until("ex05_mixing.mix_values: ", 60)
        assert f"{STEM}.py saved at " in seen
        assert "softmax and attention_weights are solved" in seen
    finally:
        terminal.process.kill()
        terminal.process.wait()


def test_prints_are_shown(watched, answers):
    save(answers, f"{STEM}.py", softmax("    print('shape', scores.shape)\n    return scores\n"))
    seen = watched.until("your code printed")
    assert "shape torch.Size([5, 7])" in seen


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def softmax(", r"ex04_softmax.py, line 1 is not Python yet"),
        ("1 / 0\n", r"ex04_softmax.py stops while it is imported: ZeroDivisionError"),
        (
            softmax("    while True:\n        pass\n"),
            r"softmax did not come back in time\n[^?]*line",
        ),
        (softmax(SWALLOWS), r"softmax did not come back in time"),
        ("while True:\n    pass\n", r"ex04_softmax.py does not come to its end while"),
        (softmax("    import re\n    re.match('(a+)+$', 'a' * 40 + 'b')\n"), r"was ended"),
        (softmax("    import os\n    os._exit(0)\n"), r"softmax ended its process by itself"),
        (softmax("    import sys\n    sys.exit()\n"), r"softmax stopped with SystemExit"),
        (softmax("    import ctypes\n    ctypes.string_at(0)\n"), r"with SIGSEGV"),
        (softmax("    raise KeyboardInterrupt\n"), r"stopped with KeyboardInterrupt"),
        (
            softmax("    raise ValueError('\\x1b[2J\\x07' + 'x' * 10**6)\n"),
            r"ValueError: \?\[2J\?x",
        ),
    ],
)
def test_whatever_a_function_does_is_a_verdict(watched, answers, text, says):
    save(answers, f"{STEM}.py", text)
    watched.until(says)
    save(answers, f"{STEM}.py", SOLVED)
    seen = watched.until("softmax and attention_weights are solved")
    assert re.search(r"total +48 of 100 points: 15 solved, 0 wrong, 15 not started", seen)


def test_a_save_ends_what_runs(patient, answers):
    save(answers, f"{STEM}.py", softmax(SWALLOWS))
    patient.until(r"running ex04_softmax.softmax, ")
    save(answers, f"{STEM}.py", SOLVED)
    patient.until("softmax and attention_weights are solved")


def test_a_storm_of_saves(watched, answers):
    for number in range(200):
        save(answers, f"{STEM}.py", WRONG if number % 2 else f"{SOLVED}\n# {number}\n")
    save(answers, f"{STEM}.py", SOLVED)
    watched.until("softmax and attention_weights are solved")
    # the last of them may be told of once more, as one that has changed nothing
    assert re.search(r"total +48 of 100 points: 15 solved, 0 wrong", watched.look(1))


def test_a_file_and_a_folder_that_go_and_come_back(watched, answers):
    (answers / f"{STEM}.py").unlink()
    seen = watched.until("ex04_softmax.py gone at")
    assert "to put ex04_softmax.py back: python -m grader reset ex04_softmax" in seen
    save(answers, f"{STEM}.py", SOLVED)
    watched.until("softmax and attention_weights are solved")
    aside = answers.with_name("aside")
    answers.rename(aside)
    watched.look(0.5)
    aside.rename(answers)
    watched.until(r"every chapter\n")
    watched.until(r"total +48 of 100 points")
    save(answers, f"{STEM}.py", WRONG)
    watched.until("attention_weights is wrong")


def test_other_files_are_of_no_interest(watched, answers):
    before = watched.text
    for name in ("notes.txt", "ex04_softmax.py~", ".ex04_softmax.py.swp", "ex99_other.py", "4913"):
        (answers / name).write_text("x")
        (answers / name).unlink()
    assert watched.look(0.7) == before


def test_hints_on_a_key(watched, answers):
    save(answers, f"{STEM}.py", WRONG)
    assert "Your columns sum to 1" in watched.until("attention_weights is wrong")
    watched.press("h")
    seen = watched.until("ex04_softmax.attention_weights, difficulty 3 of 5")
    # what the message says is not told again
    assert "hint 1 of 3:" in seen
    assert seen.count("Your columns sum to 1") == 1
    for step in (2, 3):
        watched.press("h")
        watched.until(f"hint {step} of 3:")
    watched.press("h")
    assert len(re.findall("hint . of 3:", watched.until("There are no more"))) == 3
    assert "attention_weights" in (answers.parent / ".kit" / "hints.json").read_text()


def test_the_list_and_the_whole_message(watched):
    watched.press("l")
    seen = watched.until(r"softmax +not started +20 min")
    assert seen.count(" min") == 30
    watched.press("l")
    assert " min" not in watched.look(0.5)
    watched.press("a")
    watched.until("every chapter")


def test_it_fits_a_terminal_of_another_size(watched, answers):
    save(answers, f"{STEM}.py", WRONG)
    watched.until("attention_weights is wrong")
    for rows, columns in ((12, 60), (24, 80), (40, 100)):
        watched.resize(rows, columns)
        os.kill(watched.process.pid, signal.SIGWINCH)
        seen = watched.look(1)
        assert seen.splitlines()[0].startswith("ex04_softmax.py saved at")
        assert "attention_weights is wrong" in seen
        assert "Likely slip" in seen
        keys = seen.splitlines()[-1].split()
        assert keys[:2] == ["h", "hint"]
        assert keys[-2:] == ["q", "quit"]


def test_it_uses_no_processor_while_nothing_happens(watched):
    watched.look(3)
    before = {number: seconds_of_processor(number) for number in watched.family()}
    watched.look(10)
    used = {number: seconds_of_processor(number) - before[number] for number in before}
    assert watched.family() == set(before)
    assert sum(used.values()) < 0.01, "one look a second takes a fifth of a thousandth of it"


def seconds_of_processor(number):
    """Read a process's own clock: /proc counts in hundredths, and one is soon full."""
    return time.clock_gettime((~number << 3) | 2)  # as clock_getcpuclockid(3) has it


@pytest.mark.parametrize("way", ["q", "\x03", signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_nothing_is_left_behind(answers, way):
    save(answers, f"{STEM}.py", SOLVED)
    terminal = Terminal("--answers", answers, "watch")
    terminal.until("total")
    save(answers, f"{STEM}.py", softmax(SWALLOWS))
    terminal.until(r"running ex04_softmax.softmax")
    family = terminal.family()
    assert len(family) >= 3
    if isinstance(way, str):
        terminal.press(way)
    else:
        terminal.process.send_signal(way)
    status = terminal.ended()
    assert status == (-9 if way == signal.SIGKILL else 0)
    assert left_of(family) == []
    if way != signal.SIGKILL:
        assert "Traceback" not in terminal.look(0.2)
        assert echoes(terminal)


def echoes(terminal):
    import termios

    return bool(termios.tcgetattr(terminal.master)[3] & termios.ECHO)


def test_an_editor_gets_the_terminal(answers, tmp_path):
    editor = tmp_path / "vi"
    editor.write_text("#!/bin/sh\necho editing $1 ${2##*/}; read line; echo $line > $0.said\n")
    editor.chmod(0o755)
    save(answers, f"{STEM}.py", SOLVED)
    terminal = Terminal("--answers", answers, "watch", VISUAL="", EDITOR=str(editor))
    terminal.until("next +linear_combination")
    terminal.press("o")
    terminal.until(r"editing \+\d+ ex05_mixing.py")
    terminal.press("qlq\n")
    terminal.look(0.5)
    assert (tmp_path / "vi.said").read_text() == "qlq\n"
    terminal.press("l")
    terminal.until(r" min")
    terminal.press("q")
    assert terminal.ended() == 0


def test_without_a_terminal_there_are_lines(answers):
    save(answers, f"{STEM}.py", SOLVED)
    command = [sys.executable, "-m", "grader", "--answers", str(answers), "watch"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=places.ROOT, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        said = read_until(process.stdout, "next ")
        assert re.search(r"ex04_softmax +16 of 16", said)
        save(answers, f"{STEM}.py", WRONG)
        said = read_until(process.stdout, "next ")
        assert "attention_weights is wrong" in said
        assert "Likely slip" in said
        process.stdin.write("h\n")
        process.stdin.flush()
        said = read_until(process.stdout, "(hint \\d of 3|Your answer now)")
        process.stdin.write("q\n")
        process.stdin.flush()
        assert process.wait(10) == 0
        assert "\x1b" not in said


def test_the_end_of_a_pipe_is_not_the_end(answers):
    command = [sys.executable, "-m", "grader", "--answers", str(answers), "watch"]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd=places.ROOT, text=True
    ) as process:
        assert process.stdout is not None
        read_until(process.stdout, "next ")
        time.sleep(0.5)
        # what is saved as it is already, soon after it was tried, is passed over
        save(answers, f"{STEM}.py", f"{SOLVED}\n# another text than that of any other test\n")
        read_until(process.stdout, "saved at")
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0


# the system may give a signal to any thread: the one that waits for events is not woken by it
TO_ANOTHER_THREAD = """
import pathlib, signal, sys, threading, time
from grader.cli import main

def interrupt():
    while not pathlib.Path(sys.argv[2]).exists():
        time.sleep(0.1)
    signal.pthread_kill(threading.get_ident(), signal.SIGINT)

threading.Thread(target=interrupt, daemon=True).start()
sys.exit(main(["--answers", sys.argv[1], "watch"]))
"""


def test_an_interrupt_that_wakes_nobody_is_heard(answers, tmp_path):
    go = tmp_path / "go"
    command = [sys.executable, "-c", TO_ANOTHER_THREAD, str(answers), str(go)]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        cwd=places.ROOT, text=True,
    ) as process:  # fmt: skip
        read_until(process.stdout, "next ")
        go.touch()
        assert process.wait(10) == 0
        assert process.stderr.read() == ""


def read_until(stream, said):
    text = ""
    while not re.search(said, text):
        line = stream.readline()
        assert line, f"it ended without {said!r}:\n{text}"
        text += line
    return text


def test_a_folder_that_is_not_there():
    command = [sys.executable, "-m", "grader", "--answers", "/no/where", "watch"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=places.ROOT)
    assert done.returncode == 2
    assert done.stderr == "grader: there is no folder /no/where\n"


def test_it_can_be_left_while_it_loads(answers):
    for seconds in (0.8, 1.6):
        terminal = Terminal("--answers", answers, "watch")
        terminal.until("loading PyTorch")
        terminal.look(seconds)
        family = terminal.family()
        terminal.press("\x03")
        assert terminal.ended() == 0
        assert "Traceback" not in terminal.look(0.3)
        assert "KeyboardInterrupt" not in terminal.text
        assert left_of(family) == []
        assert echoes(terminal)
