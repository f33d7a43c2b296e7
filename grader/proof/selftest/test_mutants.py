"""Mutants: what is changed, by what name they go, and what becomes of the lists."""

from __future__ import annotations

import shutil
import sys

import pytest

from grader import places
from grader.proof.mutants import prove, survivors
from grader.proof.mutants.make import mutants_of
from grader.proof.mutants.run import Verdict, run_all
from grader.proof.mutants.survivors import Survivors

pytest.importorskip("cosmic_ray")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="each mutant runs in a fork")
STEM = "ex02_scaling"


@pytest.fixture
def folder(tmp_path):
    shutil.copytree(places.SOLUTIONS, tmp_path / "right", ignore=shutil.ignore_patterns("__*"))
    return tmp_path / "right"


def test_no_two_mutants_are_one(folder):
    made = list(mutants_of(folder, STEM))
    assert len({mutant.source for mutant in made}) == len(made) > 50
    assert len({mutant.key for mutant in made}) == len(made)
    assert all(mutant.function and mutant.before != mutant.after for mutant in made)


def test_a_folder_may_lack_a_chapter(folder):
    (folder / "ex03_masking.py").unlink()
    made = prove._mutants(folder, folder.name, [STEM, "ex03_masking"])
    assert {mutant.stem for mutant in made} == {STEM}


def test_a_mutant_is_told_and_an_equivalent_one_is_searched_for(folder):
    source = (folder / f"{STEM}.py").read_text(encoding="utf-8")
    (folder / f"{STEM}.py").write_text(
        source.replace("return scores / d_k**0.5", "return scores * d_k**-0.5")
    )
    made = [m for m in mutants_of(folder, STEM) if m.function == "scale_scores"]
    root = next(m for m in made if "d_k ** -1.0" in m.after or "d_k ** 0.5" in m.after)
    told = next(run_all([root], 1))
    assert told.told_by == "values[scale_scores]"


def test_the_list_keeps_what_a_person_has_said(tmp_path, monkeypatch):
    monkeypatch.setattr(survivors, "HERE", tmp_path)
    listed = Survivors("right")
    listed.reasons = {"f: a => b": "nobody asks"}
    listed.write({"f: a => b": "!f(1)", "f: c => d": "!f(2)", "f: e => f": "no difference"})
    assert Survivors("right").reasons == {"f: a => b": "nobody asks", "f: e => f": "no difference"}


def test_an_open_mutant_is_an_error_and_so_is_a_listed_one_that_is_told(
    folder, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(survivors, "HERE", tmp_path / "lists")
    monkeypatch.setattr(prove, "_folders", lambda: [folder])
    mutants = [m for m in mutants_of(folder, STEM) if m.function == "scale_scores"][:6]
    monkeypatch.setattr(prove, "_mutants", lambda *_: mutants)
    assert prove.prove_mutants((), 1, None, 0, False) == 0
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "right.json").write_text(f'{{"{mutants[0].key}": "it is the same"}}')
    assert prove.prove_mutants((), 1, None, 0, False) == 1
    assert "listed, but told by" in capsys.readouterr().out


@pytest.mark.parametrize(("search", "part", "whole"), [("!f(1)", 1, 1), ("no difference", 0, 1)])
def test_of_a_part_a_mutant_is_open_only_if_it_differs(
    search, part, whole, folder, tmp_path, monkeypatch
):
    monkeypatch.setattr(survivors, "HERE", tmp_path / "lists")
    monkeypatch.setattr(prove, "_folders", lambda: [folder])
    mutants = list(mutants_of(folder, STEM))[:1]
    monkeypatch.setattr(prove, "_mutants", lambda *_: mutants)
    monkeypatch.setattr(prove, "run_all", lambda found, _: [Verdict(m, "", search) for m in found])
    assert prove.prove_mutants(["scale_scores"], 1, None, 0, False) == part
    assert prove.prove_mutants((), 1, None, 0, False) == whole
