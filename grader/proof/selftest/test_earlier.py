"""Chapters graded over the reference's earlier ones: alone, beside wrong ones, against cheats."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from grader import places
from grader.batch.plan import GradingPlan
from grader.chapters import catalogue
from grader.hearings.each import Hearings
from grader.remote import budget
from grader.remote.lifted import are_levels, lifted, within
from grader.remote.talk import ByHeart

pytestmark = pytest.mark.slow
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="workers are forked from a nursery")
OVER_THE_REFERENCE = ("--earlier", "reference", "--only")


@pytest.fixture(scope="module")
def by_heart() -> ByHeart:
    return ByHeart()


@pytest.fixture
def hear(starter, by_heart):
    """Hear functions of a submission over the reference's earlier chapters."""

    def heard(name: str, **files: str) -> list[tuple[str, str, str | None, str]]:
        sources = {f"{stem}.py": text.encode() for stem, text in files.items()}
        hearings = Hearings(catalogue(), starter, "reference", by_heart)
        results = hearings.results(sources, catalogue().select(name), "cpu", 3)
        return [(one.check, one.verdict, one.slip, one.message) for one in results]

    return heard


def earned(report: Any) -> dict[str, tuple[float, float]]:
    (submission,) = report["submissions"]
    return {
        e["exercise"]: (e["devices"]["cpu"]["earned"], e["points"]) for e in submission["exercises"]
    }


def said(report: Any) -> str:
    messages = [c["message"] for e in report["submissions"][0]["exercises"] for c in e["checks"]]
    return " ".join(" ".join(messages).split())


def alone(folder: Path, **files: str) -> Path:
    folder.mkdir()
    for stem, text in files.items():
        (folder / f"{stem}.py").write_text(text, encoding="utf-8")
    return folder


def is_right(heard: list[tuple[str, str, str | None, str]]) -> bool:
    return {verdict for _, verdict, _, _ in heard} == {"passed"}


def test_a_chapter_that_is_handed_in_alone_earns_its_points(tmp_path, solution, graded):
    folder = alone(tmp_path / "alone", ex05_mixing=solution("ex05_mixing"))
    report = graded(folder, *OVER_THE_REFERENCE, "ex05_mixing")
    assert report["kit"]["earlier"] == "reference"
    assert len(earned(report)) == 5
    assert all(got == points for got, points in earned(report).values())
    over_its_own = graded(folder, "--only", "ex05_mixing")
    assert "earlier" not in over_its_own["kit"]
    assert earned(over_its_own)["ex05_mixing.attention"][0] == 0
    assert "is in ex04_softmax.py, and there is no such file" in said(over_its_own)


def test_a_wrong_earlier_chapter_is_judged_on_its_own_and_costs_no_later_one(
    tmp_path, solution, graded
):
    wrong = solution("ex03_masking").replace("masked_fill(~mask", "masked_fill(mask")
    assert wrong != solution("ex03_masking")
    own = solution("ex05_mixing").replace("if causal else", "if not causal else")
    folder = alone(tmp_path / "wrong", ex03_masking=wrong, ex04_softmax="def (", ex05_mixing=own)
    names = "ex03_masking.apply_mask,ex05_mixing.attention,ex05_mixing.self_attention"
    report = graded(folder, *OVER_THE_REFERENCE, names)
    points = earned(report)
    assert points["ex03_masking.apply_mask"][0] == points["ex05_mixing.self_attention"][0] == 0
    assert points["ex05_mixing.attention"] == (4.0, 4.0)
    slips = {c["slip"] for e in report["submissions"][0]["exercises"] for c in e["checks"]}
    assert {"filled_where_allowed", "causal_if_not_asked"} <= slips
    assert "Because" not in said(report)
    assert "ex04_softmax" not in said(report)


@on_linux
def test_a_model_can_be_trained_over_the_references_heads(hear, solution):
    assert is_right(hear("ex07_model", ex07_model=solution("ex07_model")))


@on_linux
@pytest.mark.parametrize("stem", ["ex11_cache", "ex12_flash", "ex13_decoder"])
def test_a_late_chapter_stands_on_the_references_classes_and_caches(hear, solution, stem):
    assert is_right(hear(stem, **{stem: solution(stem)}))


CACHES = """
import copy

import torch

from ex06_heads import MultiHeadAttention
from ex11_cache import KeyValueCache


def tried():
    cache = KeyValueCache(5)
    cache.update(torch.ones(2, 3, 4), torch.ones(2, 3, 6))
    return cache
"""


@on_linux
@pytest.mark.parametrize(
    ("tries", "comes"),
    [
        ("tried().length", 3),
        ("copy.deepcopy(tried()).update(torch.ones(2, 2, 4), torch.ones(2, 2, 6))[0].shape[-2]", 5),
        ("(lambda one, two: (two.update(torch.ones(2, 1, 4), torch.ones(2, 1, 6)), one.length))"
         "(*(lambda one: (one, copy.deepcopy(one)))(tried()))[1]", 3),
        ("isinstance(tried(), KeyValueCache)", True),
        ("sorted(name for name in vars(tried()) if not name.startswith('kit_'))", []),
    ],
)  # fmt: skip
def test_a_cache_of_the_references_is_asked_and_not_held(hear, solution, tries, comes):
    """Nothing but the answers of its methods comes to a worker, and a copy is another one."""
    stub = "def rms_norm("
    code = solution("ex13_decoder").replace(stub, f"{CACHES}\n\ndef own_norm(", 1)
    code += f"\n\ndef rms_norm(x, weight, eps=1e-6):\n    assert {tries} == {comes!r}\n"
    code += "    return own_norm(x, weight, eps)\n"
    assert is_right(hear("ex13_decoder.rms_norm", ex13_decoder=code))


@on_linux
@pytest.mark.parametrize(
    ("tries", "says"),
    [
        ("tried()._rows", "has no attribute '_rows'"),
        ("tried().update(torch.ones(2, 9, 4), torch.ones(2, 9, 6))", "ValueError"),
        ("[KeyValueCache(5) for _ in range(999)]", "asked too much: more than 500 modules"),
        ("[MultiHeadAttention(256, 8) for _ in range(300)]",
         "more than 268,435,456 bytes of weights made for it"),
        ("KeyValueCache(10**9)", "too large"),
        ("[KeyValueCache(250).update(torch.ones(2000, 1, 64), torch.ones(2000, 1, 1))"
         " for _ in range(9)]", "more than 268,435,456 bytes held by the objects made for it"),
    ],
)  # fmt: skip
def test_what_a_cache_of_the_references_refuses(hear, solution, tries, says):
    code = solution("ex13_decoder") + CACHES
    code += f"\n\ndef rms_norm(x, weight, eps=1e-6):\n    return {tries}\n"
    heard = hear("ex13_decoder.rms_norm", ex13_decoder=code)
    assert not is_right(heard)
    assert says in " ".join(heard[0][3].split())


@on_linux
def test_what_else_earlier_files_hold_is_the_students_own(hear, solution):
    helper = (
        "import ex01_scores\nfrom ex01_scores import project_rows\n"
        "def dot_product(*_): raise ValueError('my own dot product is wrong')\n"
        "def projected(x, *weights): return [project_rows(x, w) for w in weights]\n"
    )
    uses = solution("ex05_mixing").replace(
        "from ex01", "from ex02_scaling import projected\nfrom ex01"
    )
    old = "    query = project_rows(x, w_q)  # [*batch, n, d_k]\n"
    assert uses.count(old) == 1
    uses = uses.replace(old, "    (query,) = projected(x, w_q)\n")
    files = {"ex05_mixing": uses, "ex02_scaling": helper}
    assert is_right(hear("self_attention", **files))
    broken = hear("self_attention", **{**files, "ex02_scaling": "def ("})
    assert {verdict for _, verdict, _, _ in broken} == {"error"}
    assert "ex02_scaling.py, line 1 is not Python yet" in broken[0][3]


@on_linux
@pytest.mark.parametrize("named", ["", ", device='cpu'"])
def test_the_dry_run_sees_what_is_asked_of_a_reference(hear, solution, named):
    text = solution("ex05_mixing").replace("x.shape[-2], x.device)", f"x.shape[-2]{named})")
    assert text != solution("ex05_mixing")
    failed = [one for one in hear("self_attention", ex05_mixing=text) if one[1] != "passed"]
    assert [one[:3] for one in failed] == [
        ("device_ready[self_attention]", "failed", "constant_made_on_the_cpu")
    ]
    assert "mask = causal_mask(x.shape[-2]" in failed[0][3]


@on_linux
def test_a_reference_can_be_called_under_vmap(hear, solution):
    text = solution("ex06_heads").replace(
        "merge_heads(attention(query, key, value, mask))",
        "merge_heads(torch.vmap(lambda q, k, v: attention(q, k, v, None if mask is None else "
        "mask.squeeze(-3)), in_dims=-3, out_dims=-3)(query, key, value))",
    )
    assert text != solution("ex06_heads")
    assert is_right(hear("multi_head", ex06_heads=text))


CHEAT = """


import gc, inspect


def attention(query, key, value, mask=None):
    worker = next(c.cell_contents for c in attention_weights.__closure__
                  if hasattr(c.cell_contents, "ask"))
    parcel = worker.parcel()
    said = parcel.pack(((query, key, value, mask), {}))
    for number in range(-1, 100):
        try:
            say = {"lent": number, "gradients": False, "value": said}
            reply = worker.ask("function", say, parcel)
            return reply.unpack(reply.header["value"])
        except Exception:
            pass


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    try:
        raise ValueError(inspect.getsource(attention_weights))
    except OSError as problem:
        found = [f for f in gc.get_objects() if getattr(f, "__name__", "") == "dot_product_scores"]
        raise ValueError([inspect.signature(one) for one in found if callable(one)]) from problem


def self_attention(x, w_q, w_k, w_v, causal=False):
    return causal_mask(10**6)
"""


@on_linux
def test_a_reference_gives_nothing_away_but_what_calls_of_it_give(tmp_path, solution, graded):
    folder = alone(tmp_path / "cheat", ex05_mixing=solution("ex05_mixing") + CHEAT)
    report = graded(folder, *OVER_THE_REFERENCE, "ex05_mixing", "--time-limit", "2")
    points = earned(report)
    assert {name for name, (got, _) in points.items() if got} == {
        "ex05_mixing.linear_combination",
        "ex05_mixing.mix_values",
    }
    for stem in ("ex01_scores", "ex04_softmax"):
        code = [line.strip() for line in solution(stem).splitlines() if " = " in line]
        assert not [line for line in code if len(line) > 30 and line in said(report)]
    assert "ValueError: [" in said(report)


@on_linux
@pytest.mark.parametrize("wanting", [False, True])
def test_what_is_kept_for_the_way_back_has_an_end(hear, solution, wanting):
    """In the judge's memory, that is; what needs no way back may be larger."""
    asks = f"softmax(torch.zeros(1500, 1500, requires_grad={wanting}))"
    large = solution("ex05_mixing") + (
        "\n\nfrom ex04_softmax import softmax\n_right = attention\ndef attention(*given):\n"
        f"    for _ in range(4): {asks}\n    return _right(*given)\n"
    )
    verdicts = {check: verdict for check, verdict, _, _ in hear("attention", ex05_mixing=large)}
    assert (verdicts["values[attention]"] == "passed") != wanting


GIVES_TOO_MUCH = """

class _Cache:
    length = 0

    def update(self, key, value):
        return torch.ones(2**21, 1), torch.ones(2**21, 0)


def partial_attention(query, key, value, mask=None):
    from ex11_cache import attend_with_cache

    attend_with_cache(torch.ones(64, 1), torch.ones(64, 1), torch.ones(64, 0), _Cache())
    return query, query
"""


def test_what_is_given_to_a_reference_has_an_end(hear, solution):
    heard = hear("partial_attention", ex12_flash=solution("ex12_flash") + GIVES_TOO_MUCH)
    (told,) = {message for check, *_, message in heard if check == "values[partial_attention]"}
    assert "asked too much: more than 131,072 numbers handed over at once" in " ".join(told.split())


def test_results_of_the_two_ways_never_mix():
    exercises = tuple(catalogue().select("softmax"))
    own, over = (
        GradingPlan(exercises, ("cpu",), 1, earlier=earlier).fingerprint
        for earlier in ("own", "reference")
    )
    assert own != over


def test_what_a_call_may_come_to_is_reckoned_before_it_is_made():
    assert budget.reckoned([(65_536, 1), (65_536, 1)], ()) >= 65_536**2
    # a mask of one size has it on both sides, whoever's number it is
    for size in (10**4, np.int64(10**4), np.array([10**4]), torch.tensor(10**4), 1e4):
        assert budget.reckoned([], (size,)) >= 10**8
    assert budget.reckoned([(256,)], (10**4,)) >= 256 * 10**8
    assert budget.reckoned([(15, 256, 32)], ()) > budget.MOST_MET
    # a base is no size
    assert budget.reckoned([(45,)], (24, 10000.0)) == budget.reckoned([(45,)], (24, 1.5))
    assert budget.reckoned([(40_000, 1, 3), (40_000, 1, 3)], ()) < budget.MOST_RECKONED / 100


def test_a_function_is_lifted_as_vmap_lifts_it():
    x, y = torch.arange(24.0).reshape(2, 3, 4), torch.arange(4.0)
    found = lifted(lambda a, b: a @ b, [[1, None], [0, None]], x.transpose(1, 2), y)
    assert torch.equal(found, x @ y)
    assert within([(2, 4, 3), (4,)], [[1, None], [0, None]]) == ([[4], [4]], 2 * 3)
    assert are_levels([[0, None]], 2)
    assert not are_levels([[0]], 2)
    assert not are_levels([["0", None]], 2)


def test_every_exercise_has_a_reference_to_lend():
    from grader.hearings.earlier import references

    last = catalogue().chapters[-1]
    before = [e.full for e in catalogue().exercises() if e.stem != last.stem]
    assert list(references(catalogue(), last.stem)) == before
    assert references(catalogue(), catalogue().chapters[0].stem) == {}
    assert places.SOLUTIONS.is_dir()
