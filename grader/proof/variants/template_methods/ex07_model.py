"""Chapter 7. The model, its trainer and its oracle, all of them objects."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


class SizeTrouble(ValueError):
    """Thrown when sizes do not go together."""


@dataclass(frozen=True)
class Sizes:
    """Sizes in words, for error messages."""

    name: str
    axes: tuple[int, ...]

    @classmethod
    def of(cls, name: str, tensor: Tensor) -> Sizes:
        return cls(name, tuple(tensor.shape))

    def __str__(self) -> str:
        listed = " by ".join(map(str, self.axes)) or "a single number"
        return f"{self.name} has {len(self.axes)} axes ({listed})"


class LengthsDesk:
    """Checks lengths against the sequences that they belong to."""

    @staticmethod
    def check(lengths: Tensor | None, name: str, tensor: Tensor) -> None:
        if lengths is not None and lengths.shape != tensor.shape[:1]:
            raise SizeTrouble(
                f"One length for each of the {tensor.shape[0]} sequences, please: "
                f"{Sizes.of('lengths', lengths)}, {Sizes.of(name, tensor)}."
            )


@dataclass(frozen=True)
class WaveTable:
    """One row of waves per position."""

    positions: int
    features: int

    def _wavelengths(self) -> Tensor:
        pairs = (self.features + 1) // 2
        exponent = torch.arange(pairs, device="cpu", dtype=torch.float64) * 2 / self.features
        return torch.pow(10000.0, exponent)

    def render(self, device: torch.device | str | None) -> Tensor:
        # Doubles on the CPU: not every GPU has them.
        place = torch.arange(self.positions, device="cpu", dtype=torch.float64)
        angle = place.unsqueeze(1) / self._wavelengths().unsqueeze(0)
        waves = torch.stack((angle.sin(), angle.cos()), dim=2)
        table = waves.reshape(self.positions, waves.shape[1] * 2)[:, : self.features]
        goal = torch.empty(
            self.positions, self.features, device=device, dtype=torch.get_default_dtype()
        )
        return goal.copy_(table)


class Pool(ABC):
    """A way to average tokens."""

    @abstractmethod
    def average(self, x: Tensor) -> Tensor: ...

    @staticmethod
    def matching(lengths: Tensor | None) -> Pool:
        return EveryTokenPool() if lengths is None else RealTokenPool(lengths)


class EveryTokenPool(Pool):
    def average(self, x: Tensor) -> Tensor:
        return x.mean(dim=1)


@dataclass
class RealTokenPool(Pool):
    lengths: Tensor

    def average(self, x: Tensor) -> Tensor:
        padding = padding_mask(self.lengths, x.size(1)).logical_not()
        kept = x.masked_fill(padding.unsqueeze(2), 0.0)
        wide = torch.promote_types(x.dtype, torch.float32)
        total = kept.sum(dim=1, dtype=wide)
        return (total / self.lengths.to(wide).unsqueeze(1)).to(x.dtype)


@dataclass(frozen=True)
class Dictionary:
    """Words to ids and back."""

    ids: dict[str, int]

    def look_up(self, word: str) -> int:
        if word not in self.ids:
            raise KeyError(f"The word {word!r} is not in the vocabulary.")
        return self.ids[word]

    def encode(self, words: list[str]) -> Tensor:
        found = [self.look_up(word) for word in words]
        return torch.tensor(found, dtype=torch.long, device="cpu")

    def word_for(self, wanted: int) -> str:
        return {number: word for word, number in self.ids.items()}[wanted]


class NextWordModel(nn.Module):
    """embedding, attention, head."""

    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        if n_heads < 1 or d_model % n_heads != 0:
            raise SizeTrouble(
                f"n_heads={n_heads} has to be 1 or more and a divisor of d_model={d_model}."
            )
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.dim() != 2:
            raise SizeTrouble(f"ids should be a table of sequences, but {Sizes.of('ids', ids)}.")
        LengthsDesk.check(lengths, "ids", ids)
        return self.head(mean_pool(self._in_context(self._embedded(ids), lengths), lengths))

    def _embedded(self, ids: Tensor) -> Tensor:
        x = self.embedding(ids)
        if self.positions:
            x = x + WaveTable(x.size(1), x.size(2)).render(x.device).to(x.dtype)
        return x

    def _in_context(self, x: Tensor, lengths: Tensor | None) -> Tensor:
        if lengths is None:
            return self.attention(x)
        return self.attention(x, mask=padding_mask(lengths, x.size(1)).unsqueeze(1))


@dataclass
class Lesson:
    """What is to be learned."""

    ids: Tensor
    targets: Tensor
    lengths: Tensor | None

    def __post_init__(self) -> None:
        if self.targets.dim() != 1 or self.targets.shape != self.ids.shape[:1]:
            raise SizeTrouble(
                f"Each sequence needs one target: {Sizes.of('targets', self.targets)}, "
                f"{Sizes.of('ids', self.ids)}."
            )

    def loss_of(self, logits: Tensor) -> Tensor:
        wide = torch.promote_types(logits.dtype, torch.float32)
        return F.cross_entropy(logits.to(wide), self.targets)


@dataclass(eq=False)
class FineCopy:
    """A weight and its copy in a precision that small steps do not get lost in."""

    weight: nn.Parameter
    fine: nn.Parameter = field(init=False)

    def __post_init__(self) -> None:
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        self.fine = nn.Parameter(self.weight.detach().to(dtype=wide, copy=True))

    def take_gradient(self, weight: Tensor) -> None:
        """A hook: called when the gradient of the weight is complete."""
        assert weight.grad is not None
        self.fine.grad = weight.grad.to(self.fine.dtype)
        weight.grad = None

    def give_back(self) -> None:
        with torch.no_grad():
            self.weight.copy_(self.fine)


class Trainer:
    """Wires the model to an optimiser with hooks, and unwires it at the end."""

    def __init__(self, model: nn.Module, lesson: Lesson, lr: float) -> None:
        self._model = model
        self._lesson = lesson
        self._copies = [FineCopy(w) for w in model.parameters() if w.requires_grad]
        self._optimiser = torch.optim.SGD(
            [copy.fine for copy in self._copies], lr=lr, momentum=0.9, nesterov=True
        )
        self._losses: list[float] = []

    @contextmanager
    def _wired(self) -> Iterator[None]:
        with ExitStack() as stack:
            for copy in self._copies:
                hook = copy.weight.register_post_accumulate_grad_hook(copy.take_gradient)
                stack.callback(hook.remove)
            hook = self._optimiser.register_step_post_hook(self._after_step)
            stack.callback(hook.remove)
            yield

    def _after_step(self, *_: object) -> None:
        for copy in self._copies:
            copy.give_back()

    def _closure(self) -> float:
        self._optimiser.zero_grad(set_to_none=True)
        self._model.zero_grad(set_to_none=True)
        loss = self._lesson.loss_of(self._model(self._lesson.ids, self._lesson.lengths))
        loss.backward()
        return loss.item()

    def run(self, steps: int) -> list[float]:
        with torch.enable_grad(), self._wired():
            for _ in range(steps):
                self._losses.append(self._optimiser.step(self._closure))
        return list(self._losses)


@dataclass
class Oracle:
    """Answers without leaving a trace."""

    model: nn.Module
    dictionary: Dictionary

    def ask(self, words: list[str]) -> str:
        if not words:
            raise SizeTrouble("There is nothing to go on: words has 0 entries.")
        device = next(self.model.parameters()).device
        question = self.dictionary.encode(words).to(device).unsqueeze(0)
        with torch.no_grad():
            logits = self.model(question)
        return self.dictionary.word_for(int(logits.squeeze(0).argmax()))


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    return WaveTable(n, d_model).render(device)


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    return Dictionary(vocabulary).encode(words)


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    if x.dim() != 3:
        raise SizeTrouble(f"x should be batch by tokens by features, but {Sizes.of('x', x)}.")
    LengthsDesk.check(lengths, "x", x)
    return Pool.matching(lengths).average(x)


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    return Trainer(model, Lesson(ids, targets, lengths), lr).run(steps)


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    return Oracle(model, Dictionary(vocabulary)).ask(words)
