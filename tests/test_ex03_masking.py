"""Chapter 3: masks by exact value, and what becomes of masked scores."""

import torch

from grader.suite import (
    Case,
    Draw,
    Rule,
    check,
    checks_by_law,
    in_any_words,
    later_call,
    reference,
    refusal,
    same,
    situation,
    vary,
)
from grader.suite.devices import on_a_gpu
from grader.suite.queries_and_keys import open_mask, right_with_masks_of_every_shape

EMPTY = "With 0 positions it is empty."


@reference
def causal_mask(n, device=None):
    kept = [[j <= i for j in range(n)] for i in range(n)]
    return torch.tensor(kept, dtype=torch.bool, device=device).reshape(n, n)


@reference
def padding_mask(lengths, n):
    kept = [[j < length for j in range(n)] for length in lengths.tolist()]
    return torch.tensor(kept, dtype=torch.bool, device=lengths.device).reshape(len(kept), n)


@reference
def decoder_mask(lengths, n):
    kept = [
        [[j <= i and j < length for j in range(n)] for i in range(n)] for length in lengths.tolist()
    ]
    return torch.tensor(kept, dtype=torch.bool, device=lengths.device).reshape(len(kept), n, n)


@reference
def apply_mask(scores, mask):
    return torch.where(mask.expand(scores.shape), scores, torch.full_like(scores, -torch.inf))


def drawn_lengths(draw: Draw, *, batch=4, n=5):
    # none of them real now and then, however many there are
    return draw.integers(-(n // 4), n + 1, batch).clamp(min=0), n


def written(lengths: list[int], n: int):
    return lambda draw: (draw.tensor(lengths, torch.int64), n)


OF_ONE = ("one_sequence", "one_position")


def of_lengths(label: str, inputs) -> list[Case]:
    """Make a case for each of the two functions that take lengths."""
    return [
        Case("padding_mask", inputs, padding_mask, label, polish=label in OF_ONE),
        Case("decoder_mask", inputs, decoder_mask, label, polish=label in OF_ONE),
    ]


def scores_and_mask(draw: Draw, *batch: int, q=5, k=7):
    return draw(*batch, q, k, scale=2), draw.mask(*batch, q, k)


def scores_alone(draw: Draw, *batch: int, q=5, k=7):
    return (draw(*batch, q, k, scale=2),)


def turnable(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    kept = [[1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 0, 1, 1, 1], [0, 1, 0, 1, 1], [1, 1, 1, 0, 0]]
    return draw(5, 5, scale=2), draw.tensor(kept, torch.bool)


def row_masked(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return draw(5, 7, scale=2), mask


def nothing_masked(draw: Draw):
    return draw(5, 7, scale=2), draw.mask(5, 7) | True


def scores_of_zero(draw: Draw):
    scores = draw(5, 7, scale=2)
    scores[1] = 0
    scores[:, 4] = 0
    return scores, draw.mask(5, 7)


def masked_already(draw: Draw):
    scores = draw(5, 7, scale=2)
    return scores.masked_fill(~draw.mask(5, 7), -torch.inf), draw.mask(5, 7)


def of_shapes(label: str, scores: tuple[int, ...], mask: tuple[int, ...]) -> Case:
    """Make a case of scores and a mask of these shapes."""
    inputs = lambda draw: (draw(*scores, scale=2), draw.mask(*mask))  # noqa: E731
    everywhere = label == "mask_of_keys"
    polish = label in ("each_batch", "one_row", "keys_alone")
    return Case(
        "apply_mask", inputs, apply_mask, label, cites="The mask may be smaller",
        everywhere=everywhere, polish=polish,
    )  # fmt: skip


CASES = [
    *of_lengths("", drawn_lengths),
    Case("apply_mask", scores_and_mask, apply_mask, documents=({"q": 3, "k": 3},)),
]
SPECIAL = [
    *of_lengths("3_1_4_2_of_5", written([3, 1, 4, 2], 5)),
    # as many sequences as positions: a mask that lies the wrong way fits
    *of_lengths("1_3_2_of_3", written([1, 3, 2], 3)),
    *of_lengths("nothing_but_padding", written([0, 3, 0], 3)),
    *of_lengths("no_padding", written([4, 4], 4)),
    *of_lengths("one_sequence", written([2], 5)),
    *of_lengths("one_position", written([1, 0], 1)),
    Case("apply_mask", turnable, apply_mask, "square"),
    Case("apply_mask", scores_of_zero, apply_mask, "scores_of_zero"),
    Case("apply_mask", row_masked, apply_mask, "row_masked", cites="A row may be masked",
         everywhere=True),
    Case("apply_mask", masked_already, apply_mask, "masked_already"),
    Case("apply_mask", nothing_masked, apply_mask, "nothing_masked", everywhere=True),
    of_shapes("one_for_the_batch", (2, 5, 7), (5, 7)),
    of_shapes("mask_of_keys", (2, 5, 7), (2, 1, 7)),
    of_shapes("each_batch", (2, 3, 5, 7), (2, 1, 1, 7)),
    of_shapes("one_row", (5, 7), (1, 7)),
    of_shapes("keys_alone", (5, 7), (7,)),
    Case("apply_mask", lambda draw: (draw(5, 7, scale=2), draw.mask(1, 5).mT), apply_mask,
         "one_column", cites="The mask may be smaller", polish=True),
]  # fmt: skip
REFUSALS = [
    *(refusal(
        exercise, "ValueError: `lengths` is not a vector.",
        ("`lengths` is [2, 3], with 2 dimensions",
         lambda a, d, name=exercise: getattr(a, name)(d.integers(1, 4, 2, 3), 5)),
        ("`lengths` is [2, 1], with 2 dimensions",
         lambda a, d, name=exercise: getattr(a, name)(d.integers(1, 4, 2, 1), 5)),
        ("`lengths` is [], with 0 dimensions",
         lambda a, d, name=exercise: getattr(a, name)(d.tensor(2, torch.int64), 5)),
    ) for exercise in ("padding_mask", "decoder_mask")),
    refusal(
        "apply_mask", "ValueError: `mask` does not broadcast to the shape of `scores`.",
        ("`mask` is [5, 3] and the scores are [5, 7]",
         lambda a, d: a.apply_mask(d(5, 7), d.mask(5, 3))),
        ("`mask` is [5, 3], all True, and the scores are [5, 7]",
         lambda a, d: a.apply_mask(d(5, 7), open_mask(d, 5, 3))),
        ("`mask` is [2, 5, 7], all True, and would enlarge the scores, [5, 7]",
         lambda a, d: a.apply_mask(d(5, 7), open_mask(d, 2, 5, 7))),
        ("`mask` is [2, 3, 5, 7] and would repeat the scores, [2, 1, 5, 7]",
         lambda a, d: a.apply_mask(d(2, 1, 5, 7), d.mask(2, 3, 5, 7))),
        ("`mask` is [2, 7], without a dimension for the queries, and the scores are [2, 5, 7]",
         lambda a, d: a.apply_mask(d(2, 5, 7), d.mask(2, 7))),
        ("`mask` is [2, 5, 7] and would enlarge the scores, [5, 7]",
         lambda a, d: a.apply_mask(d(5, 7), d.mask(2, 5, 7))),
        ("`mask` is [1, 5, 7] and would give the scores, [5, 7], a dimension",
         lambda a, d: a.apply_mask(d(5, 7), d.mask(1, 5, 7))),
        ("`mask` is [1, 1, 7] and would give the scores, [5, 7], a dimension",
         lambda a, d: a.apply_mask(d(5, 7), d.mask(1, 1, 7))),
        ("`mask` is [2, 1, 7] and would repeat the scores, [1, 5, 7]",
         lambda a, d: a.apply_mask(d(1, 5, 7), d.mask(2, 1, 7))),
        ("`mask` is [5, 7] and would repeat the scores, [5, 1]",
         lambda a, d: a.apply_mask(d(5, 1), d.mask(5, 7))),
        ("`mask` is [5, 7] and would repeat the scores, [1, 7]",
         lambda a, d: a.apply_mask(d(1, 7), d.mask(5, 7))),
    ),
]  # fmt: skip
EXPLAINS = {
    "causal_mask": ("Rows are queries", "So the first row"),
    "padding_mask": ("A length of n",),
    "decoder_mask": ("Both masks", "Padding is masked", "What it finds"),
    "apply_mask": ("It is never larger", "A large negative"),
}
OWN_WORDS = ("padding_mask", "apply_mask")  # decoder_mask hands on to padding_mask
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS)))


@check("causal_mask")
@vary("n", [5, 4, 1])
def test_causal_mask_values(answer, draw, n):
    same(answer.causal_mask(n, device=draw.place), causal_mask(n, draw.device))


@check("causal_mask")
def test_causal_mask_of_002(answer, draw):
    kept = draw.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], torch.bool)
    same(answer.causal_mask(3, device=draw.place), kept)


@check("causal_mask", about="shapes", cites=Rule("sizes"))
def test_causal_mask_drawn(answer, draw):
    for sizes in (range(6, 24), range(24, 67), range(67, 129), range(129, 132)):
        n = draw.one_of(sizes)
        same(answer.causal_mask(n, draw.place), causal_mask(n, draw.device))


@check("causal_mask", about="devices", cites="It is on `device`.")
def test_causal_mask_is_device_ready(answer, draw):
    def run(device):
        for n in (5, 1, 0):
            same(answer.causal_mask(n, device), causal_mask(n, draw.device))
        named = answer.causal_mask(3, device=str(device))
        same(named, causal_mask(3, draw.device), label="the mask with a device named in words")
        same(answer.causal_mask(2), causal_mask(2), label="the mask without a device", place="cpu")

    on_a_gpu(answer, draw, run)


@check("causal_mask", cites="None: the default device")
def test_causal_mask_without_a_device(answer):
    for said, mask in (
        ("without a device", lambda: answer.causal_mask(2)),
        ("with device=None", lambda: answer.causal_mask(n=2, device=None)),
    ):
        with situation(said):
            same(mask(), causal_mask(2), label=f"the mask {said}", place="cpu")


@check("causal_mask", about="calls", cites=Rule("calls"))
def test_causal_mask_called_again(answer, draw):
    label = "the mask of a second, equal call, after the first one was overwritten"
    # the part of a larger table that is copied by most sizes need not be copied by 1
    for n in (3, 1, draw.one_of(range(6, 24)), draw.one_of(range(24, 132))):
        got = answer.after_overwriting("causal_mask", n, draw.place)
        with later_call():
            same(got, causal_mask(n, draw.device), label=label)
        got = answer.after_overwriting("causal_mask", n)
        with later_call():
            same(got, causal_mask(n), label=label, place="cpu")


@check("causal_mask", about="edges", cites=EMPTY)
def test_causal_mask_of_nothing(answer, draw):
    same(answer.causal_mask(0, draw.place), causal_mask(0, draw.device))


@check("padding_mask", about="edges", cites=EMPTY)
def test_padding_mask_of_nothing(answer, draw):
    lengths = draw.tensor([0, 0], torch.int64)
    same(answer.padding_mask(lengths, 0), padding_mask(lengths, 0))


@check("decoder_mask", about="edges", cites=EMPTY)
def test_decoder_mask_of_nothing(answer, draw):
    lengths = draw.tensor([0, 0], torch.int64)
    same(answer.decoder_mask(lengths, 0), decoder_mask(lengths, 0))


@check("padding_mask", about="dtypes", cites=Rule("lengths"))
@vary("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_padding_mask_of_integers(answer, draw, dtype):
    lengths = draw.tensor([3, 0, 4, 1], dtype)
    same(answer.padding_mask(lengths, 5), padding_mask(lengths, 5))


@check("decoder_mask", about="dtypes", cites=Rule("lengths"))
@vary("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32])
def test_decoder_mask_of_integers(answer, draw, dtype):
    lengths = draw.tensor([3, 0, 4, 1], dtype)
    same(answer.decoder_mask(lengths, 5), decoder_mask(lengths, 5))


@check("apply_mask", about="edges", cites="The mask may be smaller")
def test_apply_mask_of_every_shape(answer, draw):
    right_with_masks_of_every_shape(draw, scores_alone, answer.apply_mask, apply_mask)


@check("apply_mask", about="calls", cites="The masked scores")
def test_apply_mask_makes_a_new_tensor(answer, draw):
    for said, given in (
        ("nothing is masked", nothing_masked(draw)),
        ("some is masked", scores_and_mask(draw)),
    ):
        with situation(said):
            want = apply_mask(given[0].double(), given[1])
            got = answer.after_overwriting_with_the_same("apply_mask", *given)
            label = "the output of a second, equal call, after the first output was overwritten"
            same(got, want, like=given[0], label=label)


@check("apply_mask")
def test_apply_mask_printed_in_002(answer, draw):
    scores = draw.tensor(
        [[-1.2905, 4.4249, -3.4800], [0.7593, -2.2869, -2.1343], [-1.1067, -0.0801, -3.3173]]
    )
    mask = draw.tensor([[1, 0, 0], [1, 1, 0], [1, 1, 1]], torch.bool)
    low = -torch.inf
    masked = [[-1.2905, low, low], [0.7593, -2.2869, low], [-1.1067, -0.0801, -3.3173]]
    same(answer.apply_mask(scores, mask), draw.tensor(masked))
