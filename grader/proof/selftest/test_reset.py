"""A stub comes back, everything else stays byte for byte, and nothing that was written is lost."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from grader import places
from grader.batch.submissions import Submission
from grader.chapters import catalogue
from grader.cli import main
from grader.hints.ladder import Ladder, LadderPlace
from grader.proof.stubs import stubs_put_back
from grader.stubs.pristine import NoStubsError, Pristine
from grader.stubs.splice import BrokenTextError, splice

STEM = "ex03_masking"
ORDER = ["causal_mask", "padding_mask", "decoder_mask", "apply_mask"]


@pytest.fixture
def mine(tmp_path):
    """A folder of answers with chapter 3 solved by hand, and remarks in between."""
    text = (places.EXERCISES / f"{STEM}.py").read_text(encoding="utf-8")
    for name in ORDER:
        text = text.replace(
            f'    raise NotImplementedError("{STEM}.{name}")\n',
            f"    # {name}, my own\n    made = {name!r}\n    return made\n\n\n# below {name}: é\n",
        )
    folder = tmp_path / "exercises"
    folder.mkdir()
    (folder / f"{STEM}.py").write_bytes(text.encode())
    return folder


def reset(folder, name):
    return main(["--answers", str(folder), "reset", name])


def stub(name):
    return Pristine().chapters[STEM].functions[name]


def test_the_proof_of_the_kit():
    known = catalogue()
    figure = stubs_put_back(known)
    assert figure.proved, figure.missing
    assert figure.total == len(known.chapters) + len(list(known.exercises()))


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_only_the_function_changes(mine, capsys, newline):
    path = mine / f"{STEM}.py"
    before = path.read_bytes().replace(b"\n", newline.encode())
    path.write_bytes(before)
    assert reset(mine, "padding_mask") == 0
    after = path.read_bytes()
    start = before.index(b"def padding_mask")
    end = before.index(b"return made", start) + len(b"return made" + newline.encode())
    put_back = stub("padding_mask").replace(b"\n", newline.encode())
    assert after == before[:start] + put_back + before[end:]
    kept = mine / "kept" / "padding_mask.1.py"
    assert kept.read_bytes() == before[start:end]
    said = capsys.readouterr().out
    assert "padding_mask is as it was at first" in said
    assert "padding_mask.1.py" in said


def test_copies_are_numbered_and_never_overwritten(mine, capsys):
    path = mine / f"{STEM}.py"
    solved = path.read_bytes()
    for _ in range(3):
        path.write_bytes(solved)
        reset(mine, f"{STEM}.causal_mask")
    (mine / "kept" / "causal_mask.7.py").write_text("# by hand")
    path.write_bytes(solved)
    reset(mine, "causal_mask")
    names = sorted(file.name for file in (mine / "kept").iterdir())
    assert names == [f"causal_mask.{number}.py" for number in (1, 2, 3, 7, 8)]
    assert (mine / "kept" / "causal_mask.7.py").read_text() == "# by hand"


def test_a_stub_is_left_alone(mine, capsys):
    reset(mine, "causal_mask")
    path = mine / f"{STEM}.py"
    os.utime(path, (1, 1))
    assert reset(mine, "causal_mask") == 0
    assert path.stat().st_mtime == 1
    assert "nothing was changed" in capsys.readouterr().out
    assert len(list((mine / "kept").iterdir())) == 1


def test_what_is_kept_is_not_handed_in(mine):
    reset(mine, "causal_mask")
    reset(mine, STEM)
    assert list(Submission("me", mine).files()) == [f"{STEM}.py"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", str(mine)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=places.EXERCISES.parent)
    assert "no tests collected" in done.stdout


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        ("causal_mask", b"", b"padding_mask"),
        ("decoder_mask", b"padding_mask", b"apply_mask"),
        ("apply_mask", b"decoder_mask", b""),
    ],
)
def test_a_function_that_was_deleted(mine, name, before, after):
    path = mine / f"{STEM}.py"
    whole = path.read_bytes()
    start = whole.index(f"def {name}".encode())
    end = whole.index(b"return made\n", start) + len(b"return made\n")
    path.write_bytes(whole[:start] + whole[end:])
    assert reset(mine, name) == 0
    now = path.read_bytes()
    assert stub(name) in now
    assert now.replace(stub(name), b"").split() == (whole[:start] + whole[end:]).split()
    at = now.index(stub(name))
    assert not before or now.index(b"def " + before) < at
    assert not after or at < now.index(b"def " + after)
    compile(now, "now", "exec")


@pytest.mark.parametrize(
    "spoil",
    [
        (b"def decoder_mask(", b"def decoder_mask(("),
        (b"    made = 'decoder_mask'\n", b"    made = (1,\n"),
        (b"    # decoder_mask, my own\n", b"  made = 3\n"),
        (b"    made = 'decoder_mask'\n", b"made = 3\n    if\n"),
        (b"    made = 'decoder_mask'\n", b'    """and then\n'),
    ],
)
def test_a_function_that_is_not_python(mine, spoil):
    path = mine / f"{STEM}.py"
    whole = path.read_bytes()
    start = whole.index(b"def decoder_mask")
    end = whole.index(b"return made\n", start) + len(b"return made\n")
    path.write_bytes(whole.replace(*spoil))
    assert path.read_bytes() != whole
    assert reset(mine, "decoder_mask") == 0
    assert path.read_bytes() == whole[:start] + stub("decoder_mask") + whole[end:]


def test_a_file_that_is_not_python_elsewhere(mine, capsys):
    path = mine / f"{STEM}.py"
    broken = path.read_bytes().replace(b"def apply_mask(", b"def apply_mask((")
    path.write_bytes(broken)
    assert reset(mine, "causal_mask") == 2
    said = capsys.readouterr().err
    assert "is not Python yet" in said
    assert f"python -m grader reset {STEM}" in said
    assert path.read_bytes() == broken
    assert not (mine / "kept").exists()
    assert reset(mine, STEM) == 0
    assert path.read_bytes() == (places.EXERCISES / f"{STEM}.py").read_bytes()
    assert (mine / "kept" / f"{STEM}.1.py").read_bytes() == broken


def test_a_file_that_is_gone(mine, capsys):
    (mine / f"{STEM}.py").unlink()
    assert reset(mine, "apply_mask") == 0
    now = (mine / f"{STEM}.py").read_bytes()
    assert all(stub(name) in now for name in ORDER)
    assert "fresh copy" in capsys.readouterr().out


@pytest.mark.parametrize("name", [STEM, f"{STEM}.py", STEM.partition("_")[0]])
def test_a_chapter_is_put_back_whole(mine, name):
    assert reset(mine, name) == 0
    assert (mine / f"{STEM}.py").read_bytes() == (places.EXERCISES / f"{STEM}.py").read_bytes()


def test_a_pack_has_the_whole_chapter(mine, tmp_path):
    copy = Pristine(copy=places.EXERCISES, solutions=tmp_path / "none")
    untouched = (places.EXERCISES / f"{STEM}.py").read_bytes()
    assert copy.chapters[STEM].file() == untouched
    assert copy.chapters[STEM].functions == Pristine().chapters[STEM].functions
    with pytest.raises(NoStubsError, match="fresh copy"):
        Pristine(copy=tmp_path / "none", solutions=tmp_path / "none")


def test_the_last_definition_counts():
    data = b"def f():\n    return 1\n\n\n@cache\ndef f():\n    return 2\n    # odd\n\n\nx = 1\n"
    done = splice(data, "f", b"def f():\n    raise X\n", ["f"])
    assert done.data == b"def f():\n    return 1\n\n\ndef f():\n    raise X\n\n\nx = 1\n"
    assert done.old == b"@cache\ndef f():\n    return 2\n    # odd\n"


def test_a_name_that_means_something_else_below():
    data = b"def f():\n    return 1\n\n\nf = g = print\n"
    assert splice(data, "f", b"def f():\n    raise X\n", ["f"]).again == "line 5"
    done = splice(b"from m import f\nx = 2\n", "f", b"def f():\n    raise X\n", ["f"])
    assert done.data == b"from m import f\n\n\ndef f():\n    raise X\n\n\nx = 2\n"
    assert splice(b"f = print\n", "f", b"def f(): X\n", ["f"]).data == b"def f(): X\n"


def test_no_end_of_line_at_the_end():
    stub_of_f = b"def f():\n    raise X\n"
    assert splice(b"y = 1", "f", stub_of_f, ["f"]).data == b"y = 1\n\n\n" + stub_of_f
    assert splice(b"", "f", stub_of_f, ["f"]).data == stub_of_f


def test_two_broken_functions_of_one_name_are_not_guessed():
    with pytest.raises(BrokenTextError):
        splice(b"def f((:\n    x\ndef f():\n    y\n", "f", b"def f(): X\n", ["f"])


def test_hints_begin_again(mine):
    ladder = Ladder(mine.parent)
    ladder.remember(f"{STEM}.causal_mask", LadderPlace(2))
    ladder.remember(f"{STEM}.apply_mask", LadderPlace(1))
    reset(mine, "causal_mask")
    assert ladder.place(f"{STEM}.causal_mask") == LadderPlace()
    assert ladder.place(f"{STEM}.apply_mask") == LadderPlace(1)


@pytest.mark.parametrize(
    ("name", "says"),
    [("causal_msk", "did you mean `causal_mask`"), ("ex99_nothing", "no chapter or exercise")],
)
def test_names_that_mean_nothing(mine, capsys, name, says):
    assert reset(mine, name) == 2
    assert says in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(mine, capsys, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    before = (mine / f"{STEM}.py").read_bytes()
    monkeypatch.setattr(os, "replace", full)
    assert reset(mine, "causal_mask") == 2
    assert "No space left" in capsys.readouterr().err
    assert (mine / f"{STEM}.py").read_bytes() == before
