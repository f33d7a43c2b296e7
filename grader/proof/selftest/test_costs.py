"""What a call makes is counted, here and in a worker, and grows no faster than is promised."""

from __future__ import annotations

import contextlib
import sys

import pytest

from grader.answers.door import Answer
from grader.chapters import World, catalogue
from grader.remote.world import RemoteWorld
from grader.suite.case import Case
from grader.suite.compare import Finding
from grader.suite.costs import Growth, grows
from grader.suite.draw import Draw
from grader.suite.expected import reference
from grader.workers.forked import WorkerJob

STEM = "ex05_mixing"
HEAD = "import threading\n\nimport torch\n\n\n"
NAIVE = """
def attention(query, key, value, mask=None):
    scores = query @ key.mT
    return torch.softmax(scores / query.shape[-1] ** 0.5, -1) @ value
"""
TILED = """
def attention(query, key, value, mask=None):
    top = torch.full((*query.shape[:-1], 1), -torch.inf)
    total, out = torch.zeros_like(top), torch.zeros(*query.shape[:-1], value.shape[-1])
    for first in range(0, key.shape[-2], 16):
        scores = query @ key[..., first : first + 16, :].mT / query.shape[-1] ** 0.5
        larger = torch.maximum(top, scores.amax(-1, keepdim=True))
        old, powers = torch.exp(top - larger), torch.exp(scores - larger)
        total = total * old + powers.sum(-1, keepdim=True)
        out = out * old + powers @ value[..., first : first + 16, :]
        top = larger
    return out / total
"""
IN_NUMPY = """
def attention(query, key, value, mask=None):
    query, key, value = (one.detach().numpy() for one in (query, key, value))
    scores = query @ key.T / query.shape[-1] ** 0.5
    powers = numpy.exp(scores - scores.max(-1, keepdims=True))
    return torch.from_numpy(powers / powers.sum(-1, keepdims=True) @ value)
"""
IN_A_THREAD = """
def attention(query, key, value, mask=None):
    made = []
    def work():
        made.append(torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value)
    one = threading.Thread(target=work)
    one.start()
    one.join()
    return made[0]
"""
COPIED = IN_A_THREAD.replace("return made[0]", "return made[0] + 0")
RECOMPUTED = """
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value):
        ctx.save_for_backward(query, key, value)
        return tiled(query, key, value)

    @staticmethod
    def backward(ctx, slope):
        query, key, value = ctx.saved_tensors
        slopes = torch.zeros_like(query), torch.zeros_like(key), torch.zeros_like(value)
        for first in range(0, query.shape[-2], 16):
            rows = slice(first, first + 16)
            with torch.enable_grad():
                leaves = [
                    one.detach().requires_grad_() for one in (query[rows], key, value)
                ]
                got = tiled(*leaves)
            own, *others = torch.autograd.grad(got, leaves, slope[rows])
            slopes[0][rows] = own
            for total, one in zip(slopes[1:], others):
                total += one
        return slopes


def attention(query, key, value, mask=None):
    return Own.apply(query, key, value)
"""

# the call makes as much as it may, whatever the size; what grows is behind that, on the way back
NAIVE_ON_THE_WAY_BACK = """
class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value):
        torch.zeros(30_000)
        ctx.save_for_backward(query, key, value)
        return tiled(query, key, value)

    @staticmethod
    def backward(ctx, slope):
        with torch.enable_grad():
            leaves = [one.detach().requires_grad_() for one in ctx.saved_tensors]
            got = naive(*leaves)
        return torch.autograd.grad(got, leaves, slope)


def attention(query, key, value, mask=None):
    return Own.apply(query, key, value)
"""


@reference
def attended(query, key, value):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    powers = (scores - scores.amax(-1, keepdim=True)).exp()
    return powers / powers.sum(-1, keepdim=True) @ value


def inputs(draw: Draw, *, n=7, d_k=3, d_v=2):
    return draw(n, d_k), draw(n, d_k), draw(n, d_v)


CASE = Case("attention", inputs, attended)
AT = (67, 131, 257)


HIDDEN = """
from torch.utils._python_dispatch import _disable_current_modes


def attention(query, key, value, mask=None):
    n = query.shape[-2]
    with _disable_current_modes():
        made = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, -1) @ value
    for first in range(0, n, 16):
        torch.zeros(n, 16)
    return made + 0
"""


PUT = """
def attention(query, key, value, mask=None):
    out = torch.zeros_like(value)
    for i in range(len(value)):
        row = value[i : i + 1]
        {}
    return out
"""


def promised(measure, power=1, **more):
    return Growth(CASE, measure, "n", AT, power, "", lambda n, **_: n * n, **more)


@pytest.fixture(params=["here", "in a worker"])
def answer(request, tmp_path, starter):
    """Make the door to a text."""
    if request.param == "in a worker" and sys.platform != "linux":
        pytest.skip("workers are forked from a nursery")
    names = catalogue().names()
    with contextlib.ExitStack() as stack:

        def make(text):
            source = f"{HEAD}import numpy\n\n{text}"
            if request.param == "here":
                (tmp_path / f"{STEM}.py").write_text(source, encoding="utf-8")
                world = World(tmp_path, names)
            else:
                sources = {f"{STEM}.py": source.encode()}
                world = RemoteWorld(lambda: starter.start(WorkerJob(names)), sources, names, 10.0)
                stack.callback(world.close)
            world.begin(0)
            return Answer(world, STEM)

        yield make


def found(answer, growth):
    try:
        grows(answer, Draw(0, "costs"), growth)
    except Finding as finding:
        return finding
    return None


def test_what_makes_all_scores_is_told_with_its_line(answer):
    finding = found(answer(NAIVE), promised("largest"))
    assert finding.kind == "cost"
    # 4 bytes for each of 67 * 67 and of 131 * 131 scores
    assert "it grows 3.82-fold, from 17.54 KiB to 67.04 KiB, while `n` grows 1.96-fold" in (
        finding.detail
    )
    assert finding.detail.endswith("promised is that it grows as `n` does")
    cost = finding.actual
    assert (cost.shape, cost.function, cost.text) == (
        "[131, 131]", "attention", "scores = query @ key.mT",
    )  # fmt: skip
    assert cost.file == f"{STEM}.py"


@pytest.mark.parametrize("measure", ["largest", "peak", "made"])
def test_nothing_large_hides_what_grows(answer, measure):
    ballast = NAIVE.replace("    scores =", "    torch.ones(2**22)\n    scores =")
    finding = found(answer(ballast), promised(measure))
    assert finding.kind == "cost"
    assert finding.detail.startswith("it takes 16 MiB, and ")
    assert finding.actual.text == "torch.ones(2**22)"


@pytest.mark.parametrize("measure", ["largest", "peak"])
def test_tiles_are_let_through(answer, measure):
    assert found(answer(TILED), promised(measure)) is None


def test_work_grows_as_it_is_promised(answer):
    assert found(answer(TILED), promised("made", 2)) is None
    assert found(answer(TILED), promised("made", 1)).kind == "cost"


def test_what_is_kept_for_the_way_back_counts(answer):
    made = answer(TILED)
    assert found(made, promised("left", backward=True)).label == "what is kept for the way back"
    own = answer(TILED.replace("attention", "tiled") + RECOMPUTED)
    for measure in ("left", "largest", "peak"):
        assert found(own, promised(measure, backward=True)) is None


def test_the_way_back_does_not_hide_behind_the_call(answer):
    parts = (TILED.replace("attention", "tiled"), NAIVE.replace("attention", "naive"))
    made = answer("".join([*parts, NAIVE_ON_THE_WAY_BACK]))
    assert found(made, promised("largest")) is None
    finding = found(made, promised("largest", backward=True))
    assert finding.kind == "cost"
    assert "from 17.54 KiB to 67.04 KiB" in finding.detail


@pytest.mark.parametrize("text", [IN_NUMPY, IN_A_THREAD, COPIED])
def test_what_nobody_sees_does_not_count_for_nothing(answer, text):
    finding = found(answer(text), promised("largest"))
    assert finding.kind == "cost"
    assert "another thread" in finding.detail


def test_the_amount_is_that_of_the_tensors(answer):
    made = answer(NAIVE)
    for value in AT:
        with made.counted() as counting:
            made.attention(*CASE.at(n=value).given(Draw(0, "costs")))
        # scores, scaled, weights, output
        assert counting.forward.made == 3 * value * value + 2 * value
        assert counting.forward.largest == 4 * value * value
        assert (counting.forward.left, counting.forward.unseen) == (0, 0)


@pytest.mark.parametrize("put", [
    "out[torch.tensor([i])] = row", "out.index_copy_(-2, torch.tensor([i]), row)",
    "out.scatter_(-2, torch.full_like(row, i, dtype=torch.int64), row)",
])  # fmt: skip
def test_rows_that_are_put_by_their_number_are_counted_once(answer, put):
    made = answer(PUT.format(put))
    costs = []
    for value in AT:
        with made.counted() as counting:
            made.attention(*CASE.at(n=value).given(Draw(0, "costs")))
        costs.append(counting.forward.made / value)
    assert costs[1] < 1.1 * costs[0]


def test_a_worker_is_seen_from_outside(answer, request):
    growth = promised("largest", large=1024)
    assert found(answer(TILED), growth) is None
    finding = found(answer(HIDDEN), growth)
    if "here" in request.node.callspec.id:
        # README says so: in a process of its own nobody looks at a plain pytest from outside
        assert finding is None
    else:
        assert finding.kind == "cost"
        assert "something is made where it cannot be counted" in finding.detail
