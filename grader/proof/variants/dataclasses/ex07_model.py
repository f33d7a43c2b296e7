"""Chapter 7: the model."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex01_scores import Argument, Misfit, WrongRank, agree, spell
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    def row(position: int) -> Iterator[float]:
        for feature in range(d_model):
            pair, is_cosine = divmod(feature, 2)
            angle = position / 10000 ** (2 * pair / d_model)
            yield math.cos(angle) if is_cosine else math.sin(angle)

    table = [list(row(position)) for position in range(n)]
    made = torch.tensor(table, dtype=torch.get_default_dtype(), device=device)
    return made.reshape(n, d_model)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    def ids() -> Iterator[int]:
        for word in words:
            match word in vocabulary:
                case True:
                    yield vocabulary[word]
                case False:
                    raise KeyError(f"{word!r} is not in the vocabulary")

    return torch.tensor(list(ids()), dtype=torch.long, device="cpu")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    match tuple(x.shape):
        case (batch, n, _):
            pass
        case shape:
            raise WrongRank("x", spell(shape), "three dimensions are needed")
    match lengths:
        case None:
            counts = [n] * batch
        case _:
            agree("number", ("x", batch), ("lengths", Argument("lengths", lengths).vector()))
            counts = lengths.tolist()
    return torch.stack([rows[:count].mean(dim=0) for rows, count in zip(x, counts, strict=True)])


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = positions

    def _tokens(self, ids: Tensor) -> Tensor:
        tokens = self.embedding(ids)
        match bool(self.positions), tuple(tokens.shape):
            case True, (_, n, d_model):
                return tokens + positional_encoding(n, d_model, ids.device).to(tokens.dtype)
        return tokens

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        batch, n = Argument("ids", ids).matrix()
        mask = None
        if lengths is not None:
            agree("number", ("ids", batch), ("lengths", Argument("lengths", lengths).vector()))
            mask = padding_mask(lengths, n).unsqueeze(1)
        return self.head(mean_pool(self.attention(self._tokens(ids), mask=mask), lengths))


@dataclass(eq=False)
class Momentum:
    """Gradient descent that keeps rolling, on a copy of the weight with all its digits."""

    weight: nn.Parameter
    decay: float = 0.9
    exact: Tensor = field(init=False)
    speed: Tensor = field(init=False)

    def __post_init__(self) -> None:
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        self.exact = self.weight.detach().to(wide, copy=True)
        self.speed = torch.zeros_like(self.exact)

    def roll(self, lr: float) -> None:
        with torch.no_grad():
            self.speed.mul_(self.decay).add_(self.weight.grad)
            self.exact.sub_(lr * self.speed)
            self.weight.copy_(self.exact)


@contextlib.contextmanager
def fresh_gradients(model: nn.Module) -> Iterator[None]:
    """Hold the gradients of one step, and of no other."""
    model.zero_grad(set_to_none=True)
    try:
        with torch.enable_grad():
            yield
    finally:
        model.zero_grad(set_to_none=True)


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    agree("number", ("ids", len(ids)), ("targets", Argument("targets", targets).vector()))
    rollers = [Momentum(weight) for weight in model.parameters()]

    def course() -> Iterator[float]:
        for _ in range(steps):
            with fresh_gradients(model):
                loss = F.cross_entropy(model(ids, lengths=lengths), targets)
                loss.backward()
                for roller in rollers:
                    roller.roll(lr)
            yield loss.item()

    return list(course())


class NothingToGoOn(Misfit):
    """A question of no words."""


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    match len(words):
        case 0:
            raise NothingToGoOn("the number of words", "0", "at least one is needed")
    with contextlib.ExitStack() as stack:
        stack.enter_context(torch.no_grad())
        ids = encode_words(words, vocabulary).to(next(model.parameters()).device)
        (logits,) = model(ids.unsqueeze(0)).tolist()
    return max(vocabulary, key=lambda word: logits[vocabulary[word]])
