"""Chapter 3: masks by exact value, and what becomes of the scores behind a closed door."""

import torch
from torch import Tensor

from grader.suite import (
    OTHER_FLOATS,
    Draw,
    check,
    devices,
    each,
    laws,
    refuses,
    same,
    unchanged,
    vary,
)
from grader.suite.laws import Case


def causal_by_hand(n, device=None):
    doors = [[j <= i for j in range(n)] for i in range(n)]
    return torch.tensor(doors, dtype=torch.bool, device=device).reshape(n, n)


def padding_by_hand(lengths, n):
    doors = [[j < length for j in range(n)] for length in lengths.tolist()]
    return torch.tensor(doors, dtype=torch.bool, device=lengths.device).reshape(len(doors), n)


def decoder_by_hand(lengths, n):
    doors = [
        [[j <= i and j < length for j in range(n)] for i in range(n)] for length in lengths.tolist()
    ]
    return torch.tensor(doors, dtype=torch.bool, device=lengths.device).reshape(len(doors), n, n)


def apply64(scores, mask):
    return torch.where(mask.expand(scores.shape), scores, torch.full_like(scores, -torch.inf))


REFERENCES = {
    "causal_mask": causal_by_hand,
    "padding_mask": padding_by_hand,
    "decoder_mask": decoder_by_hand,
    "apply_mask": apply64,
}


# causal_mask


@check("causal_mask", core=True)
@vary("n", [5, 4, 1])
def test_causal_mask_values(answer, draw, n):
    """Catches a mask that looks ahead, shuts out the token itself, or is not boolean."""
    same(answer.causal_mask(n, draw.place), causal_by_hand(n, draw.device))


@check("causal_mask", core=True)
def test_causal_mask_of_002(answer, draw):
    """Document 002 leaves these doors open among three tokens."""
    doors = draw.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], torch.bool)
    same(answer.causal_mask(3, device=draw.place), doors)


@check("causal_mask", core=True)
def test_causal_mask_drawn(answer, draw):
    """Catches a table of the sizes above: this size is drawn."""
    n = int(draw.integers(6, 14, 1))
    same(answer.causal_mask(n, draw.place), causal_by_hand(n, draw.device))


@check("causal_mask")
def test_causal_mask_of_nothing(answer, draw):
    """Catches code that needs at least one position: with none, the mask is empty."""
    same(answer.causal_mask(0, draw.place), causal_by_hand(0, draw.device))


@check("causal_mask")
def test_causal_mask_device(answer, draw):
    """Catches a device that is ignored, or written out where the default was asked for."""
    same(answer.causal_mask(2), causal_by_hand(2), label="the mask without a device", place="cpu")
    same(
        answer.causal_mask(2, device=str(draw.place)), causal_by_hand(2, draw.device),
        label="the mask with a device named in words",
    )  # fmt: skip


@check("causal_mask", core=True)
def test_causal_mask_is_device_ready(answer, draw):
    """Catches a mask that is made on the CPU whatever `device` says, seen without a GPU too."""

    def run(device):
        for n in (5, 0):
            same(answer.causal_mask(n, device), causal_by_hand(n, draw.device))
        same(answer.causal_mask(3, device=str(device)), causal_by_hand(3, draw.device))
        same(
            answer.causal_mask(2), causal_by_hand(2), label="the mask without a device",
            place="cpu",
        )  # fmt: skip

    devices.on_a_gpu(answer, draw, run)


# padding_mask and decoder_mask


def of_lengths(label: str, lengths: list[int], n: int) -> list[Case]:
    """One case for each of the two functions that take lengths."""

    def inputs(draw: Draw) -> tuple[Tensor, int]:
        return draw.tensor(lengths, torch.int64), n

    return [
        Case("padding_mask", inputs, padding_by_hand, label),
        Case("decoder_mask", inputs, decoder_by_hand, label),
    ]


TYPICAL = of_lengths("3_1_4_2_of_5", [3, 1, 4, 2], 5)
# as many sequences as positions: a mask that lies the wrong way fits
SQUARE = of_lengths("1_3_2_of_3", [1, 3, 2], 3)
LENGTHS = [*TYPICAL, *SQUARE, *of_lengths("2_7_1_of_7", [2, 7, 1], 7)]
EDGES = [
    *of_lengths("nothing_but_padding", [0, 3, 0], 3),
    *of_lengths("no_padding", [4, 4], 4),
    *of_lengths("one_sequence", [2], 5),
    *of_lengths("one_position", [1, 0], 1),
]


def lengths_drawn(draw: Draw) -> tuple[Tensor, int]:
    """Draw how many positions there are, and the lengths of four sequences."""
    n = int(draw.integers(6, 14, 1))
    return draw.integers(0, n + 1, 4), n


DRAWN = [
    Case("padding_mask", lengths_drawn, padding_by_hand, "drawn"),
    Case("decoder_mask", lengths_drawn, decoder_by_hand, "drawn"),
]


def exactly(answer, inputs, case):
    want = case.want(inputs)
    same(case.call(answer, inputs), want)


@check(core=True)
@each(LENGTHS)
def test_lengths(answer, draw, case):
    """Catches a length that is off by one, counted from the wrong end, or laid the wrong way."""
    exactly(answer, case.inputs(draw), case)


@check(core=True)
@each(DRAWN)
def test_lengths_drawn(answer, draw, case):
    """Catches a table of the lengths above: these are drawn, and drawn again."""
    lengths, n = case.inputs(draw)
    exactly(answer, (lengths, n), case)
    exactly(answer, (draw.integers(0, n + 1, 4), n), case)


@check(core=True)
@each(EDGES)
def test_lengths_at_the_edges(answer, draw, case):
    """Catches code that needs padding, or a real token, or more than one of anything."""
    exactly(answer, case.inputs(draw), case)


@check()
@each(of_lengths("", [0, 0], 0))
def test_no_positions(answer, draw, case):
    """Catches code that needs at least one position: with none, the mask is empty."""
    exactly(answer, case.inputs(draw), case)


@check()
@each(TYPICAL)
def test_lengths_in_int32(answer, draw, case):
    """Catches code that takes lengths of one integer dtype only."""
    lengths, n = case.inputs(draw)
    exactly(answer, (lengths.int(), n), case)


@check()
@each(TYPICAL)
def test_lengths_scattered(answer, draw, case):
    """Catches `view` on lengths whose memory is not in order."""
    lengths, n = case.inputs(draw)
    exactly(answer, (laws.scatter(lengths), n), case)


@check()
@each(TYPICAL)
def test_lengths_unchanged(answer, draw, case):
    """Catches in-place work on the caller's lengths, such as `unsqueeze_`."""
    lengths, n = case.inputs(draw)
    before, want = lengths.clone(), case.want((lengths, n))
    output = case.call(answer, (lengths, n))
    unchanged(answer.became(lengths), before, "lengths")
    same(output, want)


# apply_mask


def of_shapes(label: str, scores: tuple[int, ...], mask: tuple[int, ...]) -> Case:
    """Scores and a mask of these shapes, with at least one door open for each query."""
    return Case(
        "apply_mask", lambda draw: (draw(*scores, scale=2), draw.mask(*mask)), apply64, label
    )


def blind_row(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return draw(5, 7, scale=2), mask


def scores_of_zero(draw: Draw):
    scores = draw(5, 7, scale=2)
    scores[1] = 0
    scores[:, 4] = 0
    return scores, draw.mask(5, 7)


def closed_already(draw: Draw):
    scores = draw(5, 7, scale=2)
    return scores.masked_fill(~draw.mask(5, 7), -torch.inf), draw.mask(5, 7)


def turnable(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    doors = [[1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]]
    return draw(5, 5, scale=2), draw.tensor(doors, torch.bool)


MASKED = of_shapes("rectangle", (5, 7), (5, 7))
OF_KEYS = of_shapes("mask_of_keys", (2, 5, 7), (2, 1, 7))
ONE_FOR_ALL = of_shapes("one_for_the_batch", (2, 5, 7), (5, 7))


@check(core=True)
@each(
    [
        Case("apply_mask", turnable, apply64, "square"),
        MASKED,
        Case("apply_mask", scores_of_zero, apply64, "scores_of_zero"),
        Case("apply_mask", blind_row, apply64, "blind_query"),
        Case("apply_mask", closed_already, apply64, "closed_already"),
    ]
)
def test_values(answer, draw, case):
    """Catches doors that are closed with a number, closed the wrong way round, or left open."""
    laws.values(answer, draw, case)


@check("apply_mask", core=True)
def test_apply_mask_printed_in_002(answer, draw):
    """The scaled scores of document 002, before and after its masked_fill."""
    scores = draw.tensor(
        [[-1.2905, 4.4249, -3.4800], [0.7593, -2.2869, -2.1343], [-1.1067, -0.0801, -3.3173]]
    )
    mask = draw.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], torch.bool)
    low = -torch.inf
    masked = [[-1.2905, low, low], [0.7593, -2.2869, low], [-1.1067, -0.0801, -3.3173]]
    same(answer.apply_mask(scores, mask), draw.tensor(masked))


@check(core=True)
@each(
    [
        ONE_FOR_ALL,
        OF_KEYS,
        of_shapes("whole_batch", (2, 5, 7), (2, 5, 7)),
        of_shapes("two_batches", (2, 3, 5, 7), (5, 7)),
        of_shapes("each_batch", (2, 3, 5, 7), (2, 1, 1, 7)),
        of_shapes("one_row", (5, 7), (1, 7)),
        of_shapes("keys_alone", (5, 7), (7,)),
        Case(
            "apply_mask",
            lambda draw: (draw(5, 7, scale=2), draw.mask(1, 5).mT),
            apply64,
            "one_column",
        ),
    ]
)
def test_broadcast(answer, draw, case):
    """Catches code that needs a mask as large as the scores, or lines it up on the left."""
    laws.values(answer, draw, case)


@check("apply_mask")
@vary("dtype", OTHER_FLOATS)
def test_apply_mask_dtypes(answer, draw, dtype):
    """Catches a fill that float16 cannot hold, and an output that is always float32."""
    laws.values(answer, draw.using(dtype), MASKED)


@check()
@each([MASKED, OF_KEYS])
def test_strides(answer, draw, case):
    """Catches `view` on memory that is not in order."""
    laws.strides(answer, draw, case)


@check()
@each([MASKED, OF_KEYS])
def test_inputs_unchanged(answer, draw, case):
    """Catches `masked_fill_` or `scores[...] =` on the caller's scores, and results kept."""
    laws.inputs_unchanged(answer, draw, case)


@check()
@each([MASKED, OF_KEYS])
def test_gradients(answer, draw, case):
    """Catches a cut graph: what stays open lets its gradient through as it is."""
    scores, mask = case.inputs(draw.using(torch.float64))
    given, twin = laws.leaf(scores), laws.leaf(scores)
    output = case.call(answer, (given, mask))
    want = case.want((twin, mask))
    same(output, want.detach(), like=scores)
    pull = draw.using(torch.float64)(*scores.shape) * mask
    laws.backward_matches(output, want, [("scores", given), ("mask", mask)], (twin, mask), pull)


@check()
@each(devices.by_exercise([*TYPICAL, MASKED, OF_KEYS]))
def test_device_ready(answer, draw, case):
    """Catches what works on the CPU alone: a tensor made without `device=`, or moved away."""
    devices.device_ready(answer, draw, case)


@check("apply_mask")
def test_apply_mask_refuses_misfits(answer, draw):
    """Catches scores that the mask enlarges in silence, and errors that name no sizes."""
    refuses(
        lambda: answer.apply_mask(draw(5, 7), draw.mask(5, 3)), 7, 3,
        why="`mask` is [5, 3] and the scores are [5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.apply_mask(draw(2, 5, 7), draw.mask(2, 7)), 2, 5,
        why="`mask` is [2, 7], without a dimension for the queries, and the scores are [2, 5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.apply_mask(draw(5, 7), draw.mask(2, 5, 7)), 2, 5, 7,
        why="`mask` is [2, 5, 7] and would enlarge the scores, [5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.apply_mask(draw(1, 5, 7), draw.mask(2, 1, 7)), 2, 1,
        why="`mask` is [2, 1, 7] and would repeat the scores, [1, 5, 7]",
    )  # fmt: skip
    refuses(
        lambda: answer.apply_mask(draw(5, 1), draw.mask(5, 7)), 7, 1,
        why="`mask` is [5, 7] and would repeat the scores, [5, 1]",
    )  # fmt: skip
