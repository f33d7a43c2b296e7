"""Training the student's own model with the student's own functions, and drawing it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.coach.ex06_heads import head_maps
from grader.coach.ex07_model import IDS, TABLE
from grader.finishing.lesson import Lesson, Phrase, lesson
from grader.pictures.model import Curve, Panel, Picture, Row
from grader.showing.workbench import Workbench

WIDTH, HEADS = 16, 4
STEPS, ROUNDS, STARTS = 200, 3, 2
# of the chapter's own sentences these two show what "not" does
OF_THE_CHAPTER = ("not like", "do like")
MODEL = "ex07_model.NextWordModel"


class NotToBeDrawn(Exception):
    """The picture ends here; the sentence says why."""


def draw(bench: Workbench, picture: Picture, own: Sequence[tuple[str, ...]]) -> None:
    """Train a model and draw it.

    Args:
        bench: runs the student's functions.
        picture: where to draw.
        own: sentences of the student's own.

    Raises:
        NotToBeDrawn: a function that it takes is not there, or gives what is no use.
    """
    taught = lesson(IDS, TABLE, own)
    picture.notes += taught.torn()
    ids, lengths = _ids(bench, taught)
    targets = torch.tensor([taught.vocabulary[one.then] for one in taught.sentences])
    model = _trained(bench, picture, taught, (ids, targets, lengths))
    for sentence in {one.text: one for one in taught.sentences}.values():
        if sentence.own or sentence.text in OF_THE_CHAPTER:
            picture.rows.append(Row(f'"{sentence.text}"'))
            _heads(bench, picture.rows[-1], model, ids, taught, sentence)
    _answers(bench, picture, model, taught, ids, lengths)


def _use(bench: Workbench, full: str, way: Callable[..., Any], *args: Any) -> Any:
    """Use a function of the student's in some way."""
    done = bench.run(full, lambda function: way(function, *args))
    if done.missing:
        raise NotToBeDrawn(
            f"The picture ends here: {done.missing}. What is left to do: python -m grader"
        )
    return done.result


def _ids(bench: Workbench, taught: Lesson) -> tuple[Tensor, Tensor]:
    """Turn the sentences into ids, padded at their ends, and say how long each is."""
    rows = []
    for sentence in taught.sentences:
        words = list(sentence.words)
        made = _use(bench, "ex07_model.encode_words", _call, words, dict(taught.vocabulary))
        if not isinstance(made, Tensor) or made.shape != (len(words),):
            raise NotToBeDrawn("The picture ends here: your encode_words gives no ids.")
        rows.append(torch.nn.functional.pad(made, (0, taught.longest - len(words))))
    return torch.stack(rows), torch.tensor([len(one.words) for one in taught.sentences])


def _trained(
    bench: Workbench, picture: Picture, taught: Lesson, data: tuple[Tensor, Tensor, Tensor]
) -> Any:
    """Train a model, once more from another start if the first was an unlucky one."""
    ids, targets, lengths = data
    for start in range(STARTS):
        model = _use(bench, MODEL, _made, len(taught.vocabulary), start)
        losses: list[float] = []
        for _ in range(ROUNDS):
            losses += _round(bench, model, data)
            right = _use(bench, MODEL, _right, model, ids, targets, lengths)
            if right >= taught.most_right:
                break
        if right >= taught.most_right:
            break
    _draw_training(picture, losses, right, taught)
    return model


def _call(function: Any, *args: Any) -> Any:
    return function(*args)


def _made(make: Any, words: int, start: int) -> Any:
    torch.manual_seed(start)
    return make(words, WIDTH, n_heads=HEADS, positions=True)


def _round(bench: Workbench, model: Any, data: tuple[Tensor, Tensor, Tensor]) -> list[float]:
    ids, targets, lengths = data

    def teach(train: Any) -> Any:
        return train(model, ids, targets, steps=STEPS, lengths=lengths)

    losses = _use(bench, "ex07_model.train", teach)
    if not isinstance(losses, list) or len(losses) != STEPS:
        raise NotToBeDrawn(f"The picture ends here: your train gives no list of {STEPS} losses.")
    return [float(loss) for loss in losses]


def _right(_: Any, model: Any, ids: Tensor, targets: Tensor, lengths: Tensor) -> int:
    model.eval()
    with torch.no_grad():
        return int((model(ids, lengths).argmax(-1) == targets).sum())


def _draw_training(picture: Picture, losses: list[float], right: int, taught: Lesson) -> None:
    every, own = len(taught.sentences), sum(one.own for one in taught.sentences)
    four = f"{every - own} sentences of chapter 7"
    yours = f" and on {own} of your own" if own else ""
    chance = math.log(len(taught.vocabulary))
    row = Row(
        f"Trained for {len(losses)} steps on the {four}{yours}, "
        f"as NextWordModel({len(taught.vocabulary)}, {WIDTH}, n_heads={HEADS}, positions=True)."
    )
    row.curve = Curve("loss before each step", [x for x in losses if math.isfinite(x)], "step")
    row.notes.append(
        f"From {losses[0]:.3g} to {losses[-1]:.2g}; a guess among {len(taught.vocabulary)} "
        f"words has {chance:.3g}. It knows the next word of {right} of {every} sentences."
    )
    picture.rows.append(row)


def _heads(
    bench: Workbench, row: Row, model: Any, ids: Tensor, taught: Lesson, sentence: Phrase
) -> None:
    """Draw what each head looks at in one sentence."""
    place, words = taught.sentences.index(sentence), list(sentence.words)
    maps = _use(bench, MODEL, _maps, model, ids[place : place + 1, : len(words)])
    if not isinstance(maps, Tensor) or maps.shape != (HEADS, len(words), len(words)):
        row.notes.append("Its heads cannot be looked into: your model uses its layers another way.")
        return
    for head in range(HEADS):
        panel = Panel(f"head {head}", maps[head].tolist(), words, words, scale="weights",
                      source="yours", digits=2)  # fmt: skip
        row.stacks.append([panel])


def _maps(_: Any, model: Any, ids: Tensor) -> Tensor | None:
    """Catch what goes into the attention, and read the heads' weights off it."""
    caught: list[Tensor] = []

    def catch(__: Any, args: Any, kwargs: Any) -> None:
        caught.extend([*args, *kwargs.values()][:1])

    hook = model.attention.register_forward_pre_hook(catch, with_kwargs=True)
    with torch.no_grad():
        model(ids)
    hook.remove()
    if not caught:
        return None
    maps: Tensor | None = head_maps(model.attention, caught[0][0], HEADS)
    return maps


def _shares(_: Any, model: Any, ids: Tensor, lengths: Tensor) -> Tensor:
    with torch.no_grad():
        return torch.softmax(model(ids, lengths).double(), -1)


def _answers(
    bench: Workbench, picture: Picture, model: Any, taught: Lesson, ids: Tensor, lengths: Tensor
) -> None:
    """Draw how likely each word is after each sentence, and ask the student's predict."""
    likely = _use(bench, MODEL, _shares, model, ids, lengths)
    row = Row("How likely each word is to follow: the softmax of your logits.")
    titles = [one.text for one in taught.sentences]
    row.stacks.append([Panel("next word", likely.tolist(), titles, list(taught.vocabulary),
                             scale="weights", source="yours", digits=2)])  # fmt: skip
    for one in taught.sentences:
        asked = model, list(one.words), dict(taught.vocabulary)
        said = _use(bench, "ex07_model.predict", _call, *asked)
        wrong = "" if said == one.then else f", and not {one.then}"
        row.notes.append(f'your predict: "{one.text}" -> {said}{wrong}')
    picture.rows.append(row)
