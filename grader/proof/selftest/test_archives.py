"""Archives and folders are opened with care: what counts is read, the rest gets a sentence."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import stat
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from grader import places
from grader.batch.reader import SubmissionReader
from grader.batch.sources import Told, Unusable
from grader.batch.submissions import find

TEXT = b"x = 1\n"
NAME = "ex01_scores.py"
MEBIBYTE = 2**20


@pytest.fixture
def zipped(tmp_path):
    def write(*members, method=zipfile.ZIP_DEFLATED, name="anna.zip"):
        with zipfile.ZipFile(tmp_path / name, "w", method) as archive:
            for member, data in members:
                archive.writestr(member, data)
        return tmp_path / name

    return write


@pytest.fixture
def tarred(tmp_path):
    def write(*members, name="anna.tar.gz", **more):
        with tarfile.open(tmp_path / name, "w:gz", **more) as archive:
            for member, data in members:
                info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        return tmp_path / name

    return write


def read(path):
    (submission,) = find([path])
    return submission.files()


def unread(path):
    """Return why a chapter of a submission is not read; the other one is."""
    told = Told()
    (submission,) = find([path])
    files = submission.files(told=told)
    assert files.pop(NAME).startswith(b"raise SyntaxError(")
    assert files == {"ex02_scaling.py": TEXT}
    [says] = told.notes
    assert says.isprintable()
    assert len(says) <= 300
    return says


def refused(path):
    with pytest.raises(Unusable) as problem:
        read(path)
    says = str(problem.value)
    assert says.isprintable()
    assert len(says) <= 300
    assert "Traceback" not in says
    return says


def special(name, kind, target=""):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize("method", ["STORED", "DEFLATED", "BZIP2", "LZMA"])
def test_every_way_of_packing_a_zip(zipped, method):
    path = zipped((f"hand-in/{NAME}", TEXT * 999), method=getattr(zipfile, f"ZIP_{method}"))
    assert read(path) == {NAME: TEXT * 999}


@pytest.mark.parametrize(
    "place", ["", "exercises/", "hand-in/", "hand-in/exercises/", "./", "a\\b\\"]
)
def test_where_chapters_may_lie(zipped, tarred, place):
    assert read(zipped((place + NAME, TEXT))) == {NAME: TEXT}
    assert read(tarred((place + NAME, TEXT))) == {NAME: TEXT}


def test_nothing_but_chapters_is_read(zipped, tarred):
    members = [
        (NAME, TEXT), ("conftest.py", b"1"), ("sitecustomize.py", b"1"), ("torch.py", b"1"),
        ("ex01_scores.pyc", b"1"), ("example.py", b"1"), ("ex1.py", b"1"), ("solutions.zip", b"PK"),
        ("__MACOSX/._ex01_scores.py", b"1"), (".git/ex02_scaling.py", b"1"),
        (".ex03_masking.py", b"1"), ("old/ex02_scaling.py", b"1"), ("../ex03_masking.py", b"1"),
        ("/exercises/ex04_softmax.py", b"1"), ("C:/ex05_mixing.py", b"1"),
        ("..\\..\\ex06_heads.py", b"1"), ("C:\\ex07_model.py", b"1"),
    ]  # fmt: skip
    assert read(zipped(*members)) == {NAME: TEXT}
    assert read(tarred(*members)) == {NAME: TEXT}


def test_paths_outside_are_named_where_nothing_else_is_there(zipped, tarred):
    for path in (zipped((f"../{NAME}", TEXT)), tarred((f"/tmp/{NAME}", TEXT))):
        says = refused(path)
        assert "no ex*.py" in says
        assert f"{NAME} leads outside of the archive" in says


def test_a_zip_that_is_all_that_a_zip_holds_is_opened(zipped):
    inner = zipped((f"work/{NAME}", TEXT), name="inner.zip").read_bytes()
    assert read(zipped(("up/inner.zip", inner), ("up/", b""))) == {NAME: TEXT}
    damaged = inner[:-30]
    assert "but inner.zip: it is not opened here" in refused(zipped(("inner.zip", damaged)))


def test_a_zip_beside_others_in_a_zip_or_two_deep_stays_closed(zipped):
    inner = zipped((NAME, TEXT), name="inner.zip").read_bytes()
    assert "no ex*.py" in refused(zipped(("inner.zip", inner), ("other.zip", inner)))
    twice = zipped(("inner.zip", inner), name="twice.zip").read_bytes()
    assert "no ex*.py" in refused(zipped(("twice.zip", twice)))


def test_what_a_zip_in_a_zip_unpacks_to_is_bounded(zipped):
    bomb = zipped((NAME, b"#" * 2**24), name="inner.zip").read_bytes()
    assert "larger than 1 MiB" in refused(zipped(("inner.zip", bomb)))


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "twins",
    [
        (NAME, NAME),
        (NAME, f"./{NAME}"),
        (f"a/{NAME}", f"A/{NAME}"),
        (f"a/{NAME}", f"a\\{NAME}"),
        (NAME, "EX01_Scores.py"),
        ("ex01_scores_a.py", "ex01_scores_A.py"),
    ],
)
def test_two_of_one_name_are_refused(zipped, tarred, twins):
    members = [(twins[0], b"wrong = 1\n"), (twins[1], TEXT)]
    for path in (zipped(*members), tarred(*members)):
        says = refused(path)
        assert "not clear which one counts" in says
        assert twins[1] in says


def test_several_folders_of_chapters_are_refused(zipped):
    assert "its chapters lie in a, b: hand in one" in refused(
        zipped((f"a/{NAME}", TEXT), (f"b/{NAME}", b"other = 1\n"))
    )


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        (tarfile.SYMTYPE, "is a link"), (tarfile.LNKTYPE, "is a link"),
        (tarfile.FIFOTYPE, "special file"), (tarfile.CHRTYPE, "special file"),
        (tarfile.BLKTYPE, "special file"), (tarfile.DIRTYPE, "is a folder"),
    ],
)  # fmt: skip
def test_only_files_of_a_tar_are_read(tarred, kind, word):
    says = unread(tarred((special(NAME, kind, "/etc/passwd"), b""), ("ex02_scaling.py", TEXT)))
    assert NAME in says
    assert word in says


@pytest.mark.parametrize(
    ("mode", "word"),
    [(stat.S_IFLNK, "is a link"), (stat.S_IFIFO, "special file"), (stat.S_IFDIR, "is a folder")],
)
def test_only_files_of_a_zip_are_read(zipped, mode, word):
    info = zipfile.ZipInfo(NAME)
    info.create_system, info.external_attr = 3, (mode | 0o777) << 16
    says = refused(zipped((info, b"/etc/passwd")))
    assert NAME in says
    assert word in says


def test_a_password_is_said(zipped):
    path = zipped((NAME, TEXT))
    data = bytearray(path.read_bytes())
    data[6] |= 1
    data[data.index(b"PK\1\2") + 8] |= 1
    path.write_bytes(data)
    assert f"{NAME} is encrypted" in refused(path)


@pytest.mark.parametrize("method", ["STORED", "DEFLATED", "BZIP2", "LZMA"])
@pytest.mark.parametrize("lies", [False, True], ids=["honest", "lying"])
def test_a_bomb_in_a_zip_costs_nothing(zipped, method, lies):
    size = 48 * MEBIBYTE if method != "STORED" else 2 * MEBIBYTE
    path = zipped((NAME, bytes(size)), method=getattr(zipfile, f"ZIP_{method}"))
    if lies:
        small = (1000).to_bytes(4, "little")
        path.write_bytes(path.read_bytes().replace(size.to_bytes(4, "little"), small))
    says, peak, seconds = measured(path)
    assert "larger than 1 MiB" in says or "checksum" in says or "cannot be read" in says
    assert peak < 100 * MEBIBYTE
    assert seconds < 2


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGNAME, b"0"])
def test_a_bomb_in_a_tar_costs_nothing(tmp_path, kind):
    path, size = tmp_path / "anna.tar.gz", 300 * MEBIBYTE
    info = tarfile.TarInfo("data")
    info.type, info.size = kind, size
    with gzip.open(path, "wb", compresslevel=1) as file:
        file.write(info.tobuf())
        for _ in range(300):
            file.write(bytes(MEBIBYTE))
    says, peak, seconds = measured(path)
    assert "larger than 65536 bytes" in says or "unpacks to more than 256 MiB" in says
    assert peak < 400 * MEBIBYTE
    assert seconds < 10


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.XGLTYPE])
def test_many_headers_of_a_tar_cost_little(tmp_path, kind):
    path, header, member = (
        tmp_path / "anna.tar.gz",
        tarfile.TarInfo("more"),
        tarfile.TarInfo("data"),
    )
    records = b"".join(b"11 %05x=\n\n" % number for number in range(5800))
    header.type, header.size = kind, len(records)
    one = header.tobuf() + records + bytes(-len(records) % 512) + member.tobuf()
    with gzip.open(path, "wb", compresslevel=1) as file:
        for _ in range(1000):
            file.write(one)
    says, peak, seconds = measured(path)
    assert "its headers are larger than 16 MiB" in says
    assert peak < 200 * MEBIBYTE
    assert seconds < 8


def measured(path):
    """Refuse in the process that reads submissions, which outlives it; say what it took there."""
    with SubmissionReader() as reader:
        reader.held(path.parent / "starts it")
        pid, began = reader.pid, time.monotonic()
        with pytest.raises(Unusable) as problem:
            reader.read(path)
        assert reader.pid == pid
        seconds = time.monotonic() - began
        if sys.platform != "linux":
            return str(problem.value), 0, seconds
        taken = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()[11:13]
        seconds = sum(map(int, taken)) / os.sysconf("SC_CLK_TCK")
        (peak,) = re.findall(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        return str(problem.value), int(peak) * 1024, seconds


def test_a_tail_behind_the_archive_is_bounded_too(tmp_path, tarred):
    path = tarred((NAME, TEXT))
    with path.open("ab") as file:
        file.write(gzip.compress(bytes(300 * MEBIBYTE), compresslevel=1))
    assert "unpacks to more than 256 MiB" in refused(path)


def test_a_sparse_file_of_an_exabyte(tmp_path):
    path = tmp_path / "anna.tar.gz"
    head = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": str(2**60)}
    info = tarfile.TarInfo("GNUSparseFile.0/ex01_scores.py")
    info.pax_headers = {**head, "GNU.sparse.name": NAME}
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        data = b"1\n0\n1152921504606846976\n".ljust(512, b"\0")
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))
    assert NAME in refused(path)


@pytest.mark.parametrize("size", [-512, -1, 2**62, 2**90])
def test_sizes_that_cannot_be(tmp_path, size):
    header = bytearray(tarfile.TarInfo(NAME).tobuf())
    header[124:136] = (size % 256**12 | (0 if size < 0 else 0x80 << 88)).to_bytes(12, "big")
    header[148:156] = b"        "
    header[148:156] = b"%06o\0 " % sum(header)
    path = tmp_path / "anna.tar.gz"
    path.write_bytes(gzip.compress(bytes(header) + bytes(2048)))
    refused(path)


def test_too_many_members(zipped, tarred):
    many = [(f"data/{number}", b"") for number in range(10_001)]
    for path in (zipped(*many, (NAME, TEXT)), tarred(*many, (NAME, TEXT))):
        assert "more than 10000 members" in refused(path)


def test_too_many_and_too_large_chapters(zipped, tarred):
    many = [(f"ex98_a{number}.py", bytes(MEBIBYTE)) for number in range(101)]
    assert "more than 100 are not read" in refused(zipped(*many))
    assert "too large" in refused(tarred(*many))
    assert "larger than 64 MiB" in refused(zipped(*many[:70]))


@pytest.mark.parametrize("cut", [3, 60, -30, -6])
def test_cut_short(zipped, tarred, cut):
    noise = os.urandom(300)
    for path in (zipped((NAME, noise)), tarred((NAME, noise))):
        path.write_bytes(path.read_bytes()[:cut])
        assert "cannot be read" in refused(path)


def test_one_byte_changed_is_never_taken_for_the_answer(zipped, tarred):
    for path in (zipped((NAME, TEXT * 50)), tarred((NAME, TEXT * 50))):
        whole = path.read_bytes()
        for place in range(0, len(whole), 3):
            path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x55]) + whole[place + 1 :])
            try:
                files = read(path)
            except Unusable:
                continue
            assert files == {NAME: TEXT * 50} or NAME not in files


def test_names_in_any_encoding(zipped, tarred, tmp_path):
    assert read(zipped((f"Übung für José/{NAME}", TEXT))) == {NAME: TEXT}
    assert read(tarred((f"\udcff\udcfe/{NAME}", TEXT))) == {NAME: TEXT}
    assert "\\xff" in refused(tarred((special(f"\udcff/{NAME}", tarfile.SYMTYPE, "x"), b"")))
    path = zipped((f"caf\xe9/{NAME}", TEXT))
    path.write_bytes(path.read_bytes().replace("é".encode(), b"\xff\xfe"))
    assert "UTF-8" in refused(path)


def test_a_zip_without_the_flag_of_utf8(zipped):
    path = zipped((f"caf\xe9/{NAME}", TEXT))
    data = bytearray(path.read_bytes())
    data[7] &= ~0x08
    data[data.index(b"PK\1\2") + 9] &= ~0x08
    path.write_bytes(data)
    assert read(path) == {NAME: TEXT}


@pytest.mark.parametrize("ending", ["rar", "7z", "tar", "tar.xz", "tar.bz2"])
def test_other_archives_are_somebodys_submission(tmp_path, ending):
    (tmp_path / f"anna.{ending}").write_bytes(b"something")
    (tmp_path / "grades.csv").write_bytes(b"no submission")
    assert "hand in a .zip or .tar.gz" in refused(tmp_path)


def test_notebooks_count_as_files_do(zipped):
    cell = {"cell_type": "code", "source": "def dot_product(a, b):\n    return (a * b).sum(-1)\n"}
    notebook = json.dumps({"cells": [cell, {"cell_type": "code", "source": "!rm -rf /"}]})
    stub = b"def dot_product(a, b):\n    raise NotImplementedError\n"
    checkpoint = (".ipynb_checkpoints/ex01_scores.ipynb", b"no notebook")
    for beside in ([], [(NAME, stub)]):
        (text,) = read(zipped(("ex01_scores.ipynb", notebook), checkpoint, *beside)).values()
        assert b"(a * b).sum(-1)" in text
        assert b"rm -rf" not in text
    assert "not a notebook" in refused(zipped(("ex01_scores.ipynb", b"[]")))
    assert "clear its outputs" in refused(zipped(("ex01_scores.ipynb", bytes(9 * MEBIBYTE))))


# folders


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "all" / "anna"
    made.mkdir(parents=True)
    (made / "ex02_scaling.py").write_bytes(TEXT)
    return made


def test_links_in_a_folder_are_not_followed(folder):
    (folder / NAME).symlink_to(places.SOLUTIONS / NAME)
    assert f"{NAME} is a link" in unread(folder)


def test_a_linked_exercises_folder_is_not_followed(tmp_path):
    (tmp_path / "anna").mkdir()
    (tmp_path / "anna" / "exercises").symlink_to(places.SOLUTIONS)
    (tmp_path / "exact").symlink_to(places.SOLUTIONS)
    (tmp_path / "zip.zip").symlink_to(tmp_path / "nowhere.zip")
    (tmp_path / "lost").symlink_to(tmp_path / "nowhere")
    problems = {}
    for submission in find([tmp_path]):
        with pytest.raises(Unusable) as problem:
            submission.files()
        problems[submission.identity] = str(problem.value)
    assert sorted(problems) == ["anna", "exact", "lost", "zip"]
    assert all("is a link" in says for says in problems.values())


def test_a_link_that_was_given_is_followed(folder, tmp_path):
    (tmp_path / "berta").symlink_to(folder)
    (submission,) = find([tmp_path / "berta"])
    assert submission.identity == "berta"
    assert submission.files() == {"ex02_scaling.py": TEXT}


@pytest.mark.timeout(20)
@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
def test_a_pipe_does_not_hang_the_grader(folder):
    os.mkfifo(folder / NAME)
    assert "special file" in unread(folder)


def test_a_folder_called_like_a_chapter(folder):
    (folder / NAME).mkdir()
    assert f"{NAME} is a folder" in unread(folder)


def test_a_file_too_large(folder):
    with (folder / NAME).open("wb") as file:
        file.truncate(2**40)
    assert f"{NAME} is larger than 1 MiB" in unread(folder)


@pytest.mark.skipif(getattr(os, "geteuid", lambda: 0)() == 0, reason="root may read everything")
def test_a_file_without_permission(folder):
    (folder / NAME).write_bytes(TEXT)
    (folder / NAME).chmod(0)
    assert f"{NAME}: Permission denied" in refused(folder)


def test_the_folder_of_a_learning_platform(tmp_path, zipped):
    upload = zipped((NAME, TEXT)).read_bytes()
    (tmp_path / "all" / "Anna_123_assignsubmission_file_").mkdir(parents=True)
    (tmp_path / "all" / "Anna_123_assignsubmission_file_" / "homework.zip").write_bytes(upload)
    (submission,) = find([tmp_path / "all"])
    assert submission.identity == "Anna_123_assignsubmission_file_"
    assert submission.files() == {NAME: TEXT}


def test_one_folder_around_it_all(tmp_path):
    for place in ("anna/hand-in", "berta/a/b/hand-in/exercises", "carl/one", "carl/two"):
        (tmp_path / "all" / place).mkdir(parents=True)
        (tmp_path / "all" / place / NAME).write_bytes(TEXT)
    (tmp_path / "all" / "carl" / "two" / NAME).write_bytes(b"other = 1\n")
    (tmp_path / "all" / "anna" / "__MACOSX").mkdir()
    anna, berta, carl = find([tmp_path / "all"])
    assert anna.files() == berta.files() == {NAME: TEXT}
    with pytest.raises(Unusable, match="its chapters lie in one, two"):
        carl.files()


@pytest.mark.parametrize("name", ["homework.rar", "homework.tar.xz"])
def test_an_upload_of_another_kind_gets_its_sentence(tmp_path, name):
    (tmp_path / "all" / "Anna_123").mkdir(parents=True)
    (tmp_path / "all" / "Anna_123" / name).write_bytes(b"something")
    (submission,) = find([tmp_path / "all"])
    with pytest.raises(Unusable, match="is not opened: hand in a"):
        submission.files()


# names


def identities(*paths):
    return {submission.path: submission.identity for submission in find(paths)}


def test_names_do_not_depend_on_the_order(tmp_path):
    for place in ("week1/anna", "week2/anna", "week2/berta"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / NAME).write_bytes(TEXT)
    for ending in ("zip", "tar.gz"):
        (tmp_path / f"week1/anna.{ending}").write_bytes(b"")
    weeks = [tmp_path / "week1", tmp_path / "week2"]
    names = identities(*weeks)
    assert names == identities(*reversed(weeks)) == identities(*weeks, *weeks)
    assert {"week1/anna", "week2/anna", "anna.zip", "anna.tar.gz", "berta"} == set(names.values())
    assert list(names) == sorted(names)


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such names")
def test_names_can_be_printed(tmp_path):
    odd = ["a\x1b[31m", "b\nc", "\u202eevil", os.fsdecode(b"caf\xe9"), "山田\u3000太郎", "x" * 200]
    for name in [*odd, "Jose\u0301"]:
        (tmp_path / name).mkdir()
    names = list(identities(tmp_path).values())
    assert len(set(names)) == len(odd) + 1
    assert all(name.isprintable() for name in names)
    assert {"José", "山田 太郎", "caf\\xe9", "b\\nc", "x" * 200} < set(names)
    for name in names:
        name.encode("utf-8")
