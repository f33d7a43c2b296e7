"""The shapes in which students hand in: what platforms, systems and people make of seven files."""

from __future__ import annotations

import ast
import gzip
import io
import os
import random
import tarfile
import unicodedata
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Expected = Literal["graded", "named"]
Files = Mapping[str, str]
THEN = (2026, 1, 1, 0, 0, 0)
LATE_EVERY = 3


@dataclass(frozen=True)
class Author:
    """Who hands in.

    Attributes:
        first: name.
        last: name.
        number: on the platform.
    """

    first: str
    last: str
    number: int

    @property
    def folder(self) -> str:
        """What people call their folders."""
        return f"{self.first} {self.last}"

    @property
    def login(self) -> str:
        """What Canvas makes of a name."""
        plain = unicodedata.normalize("NFKD", f"{self.last}{self.first}".lower())
        return "".join(c for c in plain if c.isascii() and c.isalnum())


@dataclass(frozen=True)
class HandedIn:
    """What has been handed in.

    Attributes:
        identity: what the grader has to call it.
        expected: whether it is graded, or only named with a reason.
        whole: whether all chapters can be read, so that right answers have full points.
    """

    identity: str
    expected: Expected = "graded"
    whole: bool = True


Shape = Callable[[Path, Author, Files, random.Random], HandedIn]
SHAPES: dict[str, tuple[int, Shape]] = {}


def _shape(weight: int) -> Callable[[Shape], Shape]:
    """Add a shape, which so many of a hundred students have."""

    def add(shape: Shape) -> Shape:
        SHAPES[shape.__name__] = (weight, shape)
        return shape

    return add


def _write(folder: Path, files: Files) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for stem, text in files.items():
        (folder / f"{stem}.py").write_text(text, encoding="utf-8", newline="\n")


def _zipped(members: Mapping[str, bytes]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name, THEN), content)
    return data.getvalue()


def _members(files: Files, below: str = "") -> dict[str, bytes]:
    return {f"{below}{stem}.py": text.encode() for stem, text in files.items()}


@_shape(14)
def folder(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """The files in a folder."""
    _write(into / who.folder, files)
    return HandedIn(who.folder)


@_shape(8)
def folder_of_the_kit(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """The kit's folder, with what lies beside the exercises."""
    _write(into / who.folder / "exercises", files)
    (into / who.folder / "README.md").write_text("# My kit\n", encoding="utf-8")
    (into / who.folder / "pyproject.toml").write_text("", encoding="utf-8")
    return HandedIn(who.folder)


@_shape(3)
def deeper_folder(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A folder in a folder, as unpacking makes it."""
    _write(into / who.folder / "attention-kit" / "exercises", files)
    return HandedIn(who.folder)


@_shape(1)
def deep_folders(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """Folders in folders in folders."""
    _write(into / who.folder / "Homework" / "Week 3" / "mine", files)
    return HandedIn(who.folder)


@_shape(10)
def zip_of_files(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A zip of the files."""
    (into / f"{who.folder}.zip").write_bytes(_zipped(_members(files)))
    return HandedIn(who.folder)


@_shape(8)
def zip_of_a_mac(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A zip of a folder, with what macOS adds."""
    beside = {f"__MACOSX/Übung/._{stem}.py": b"\0\5\x16\7" for stem in files}
    members = {**_members(files, "Übung/"), **beside, "Übung/.DS_Store": b"\0\0\0\1Bud1"}
    (into / f"{who.folder}.zip").write_bytes(_zipped(members))
    return HandedIn(who.folder)


@_shape(6)
def tar_gz(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A tar.gz of a folder."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, content in _members(files, "work/").items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    (into / f"{who.folder}.tar.gz").write_bytes(gzip.compress(data.getvalue(), mtime=0))
    return HandedIn(who.folder)


@_shape(2)
def zip_in_a_zip(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A zip in a zip."""
    outer = _zipped({"ex.zip": _zipped(_members(files))})
    (into / f"{who.folder}.zip").write_bytes(outer)
    return HandedIn(who.folder)


@_shape(12)
def canvas(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """Loose files, as Canvas names them, and a report with them."""
    late = "_LATE" if who.number % LATE_EVERY == 0 else ""
    for stem, text in files.items():
        again = dice.choice(["", "", "-1", "-2"])
        name = f"{who.login}{late}_{who.number}_{dice.randrange(10**5, 10**6)}_{stem}{again}.py"
        (into / name).write_text(text, encoding="utf-8", newline="\n")
    (into / f"{who.login}{late}_{who.number}_99999_report.pdf").write_bytes(b"%PDF-1.7")
    return HandedIn(f"{who.login}_{who.number}")


@_shape(10)
def moodle(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A folder, as Moodle names it."""
    name = f"{who.folder}_{who.number}_assignsubmission_file"
    _write(into / name, files)
    return HandedIn(name)


@_shape(4)
def second_download(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """`ex01 (1).py`, as browsers name what is there already."""
    named = {f"{stem[:4]} (1)": text for stem, text in files.items()}
    _write(into / who.folder, named)
    return HandedIn(who.folder)


@_shape(3)
def text_files(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """`ex01_scores.py.txt`, as mail programs name it."""
    (into / who.folder).mkdir()
    for name, data in _members(files).items():
        (into / who.folder / f"{name}.txt").write_bytes(data)
    return HandedIn(who.folder)


@_shape(5)
def notebooks(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A notebook for each chapter, with a cell for each statement."""
    import nbformat
    from nbformat import v4

    (into / who.folder).mkdir()
    for stem, text in files.items():
        try:
            cells = [ast.get_source_segment(text, one) or "" for one in _whole(ast.parse(text))]
        except SyntaxError:
            cells = [text]
        made = v4.new_notebook(
            cells=[v4.new_code_cell(one, id=f"cell-{n}") for n, one in enumerate(cells)]
        )
        made.nbformat_minor = 5
        said = nbformat.writes(made, version=nbformat.NO_CONVERT)
        (into / who.folder / f"{stem}.ipynb").write_text(said, encoding="utf-8", newline="\n")
    return HandedIn(who.folder)


def _whole(module: ast.Module) -> list[ast.stmt]:
    """List statements, each from its first decorator on."""
    for one in module.body:
        if isinstance(one, ast.FunctionDef | ast.ClassDef) and one.decorator_list:
            first = one.decorator_list[0]
            one.lineno, one.col_offset = first.lineno, first.col_offset - 1
    return module.body


@_shape(2)
def two_archives(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """Two archives in a folder, one further along: nobody knows which one counts."""
    (into / who.folder).mkdir()
    earlier = {stem: text + "\n\nUNDONE = True\n" for stem, text in files.items()}
    for name, held in (("first try.zip", earlier), ("final.zip", files)):
        (into / who.folder / name).write_bytes(_zipped(_members(held)))
    return HandedIn(who.folder, "named", whole=False)


def _with_one_broken(
    into: Path, who: Author, files: Files, dice: random.Random, broken: bytes
) -> HandedIn:
    _write(into / who.folder, files)
    (into / who.folder / f"{dice.choice(list(files))}.py").write_bytes(broken)
    return HandedIn(who.folder, whole=False)


@_shape(1)
def too_large(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A chapter with a table of numbers pasted into it."""
    return _with_one_broken(into, who, files, dice, b"x = 0\n" * 2**18)


@_shape(1)
def null_bytes(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A chapter that a crash has left as zeros."""
    return _with_one_broken(into, who, files, dice, bytes(4096))


@_shape(1)
def utf_16(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A chapter that an editor has saved as "Unicode"."""
    text = next(iter(files.values())).encode("utf-16")
    return _with_one_broken(into, who, files, dice, text)


@_shape(1)
def empty_file(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A chapter with nothing in it."""
    return _with_one_broken(into, who, files, dice, b"")


@_shape(1)
def link(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A chapter that is a link to a place on the student's own machine."""
    _write(into / who.folder, files)
    place = into / who.folder / f"{dice.choice(list(files))}.py"
    place.unlink()
    os.symlink("/home/me/ex.py", place)
    return HandedIn(who.folder, whole=False)


@_shape(1)
def loose_script(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """All of it in one loose file, called like no chapter."""
    name = f"{who.folder}_homework1.py"
    (into / name).write_text("\n".join(files.values()), encoding="utf-8", newline="\n")
    return HandedIn(name, "named", whole=False)


@_shape(1)
def dead_link(into: Path, who: Author, _: Files, __: random.Random) -> HandedIn:
    """A link to a folder on the student's own machine."""
    os.symlink("/home/me/attention", into / who.folder)
    return HandedIn(who.folder, "named", whole=False)


@_shape(1)
def word(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """All of it in a document of Word."""
    (into / who.folder).mkdir()
    document = {"word/document.xml": "\n".join(files.values()).encode()}
    (into / who.folder / "ex01_scores.docx").write_bytes(_zipped(document))
    return HandedIn(who.folder, "named", whole=False)


@_shape(1)
def word_renamed(into: Path, who: Author, files: Files, dice: random.Random) -> HandedIn:
    """A document of Word under a chapter's name."""
    document = _zipped({"word/document.xml": b"<w:t>def dot_product</w:t>"})
    return _with_one_broken(into, who, files, dice, document)


@_shape(1)
def empty(into: Path, who: Author, _: Files, __: random.Random) -> HandedIn:
    """A folder with nothing in it."""
    (into / who.folder).mkdir()
    return HandedIn(who.folder, "named", whole=False)


@_shape(1)
def another_archive(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """An archive of a kind that is not opened."""
    (into / f"{who.folder}.7z").write_bytes(b"7z\xbc\xaf'\x1c" + _zipped(_members(files)))
    return HandedIn(who.folder, "named", whole=False)


@_shape(1)
def cut_off(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """A zip of which the upload broke off."""
    (into / f"{who.folder}.zip").write_bytes(_zipped(_members(files))[:-200])
    return HandedIn(who.folder, "named", whole=False)


@_shape(1)
def one_chapter(into: Path, who: Author, files: Files, _: random.Random) -> HandedIn:
    """The first chapter alone."""
    stem = next(iter(files))
    _write(into / who.folder, {stem: files[stem]})
    return HandedIn(who.folder, whole=False)
