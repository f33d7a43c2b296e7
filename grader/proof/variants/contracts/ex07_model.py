"""The model. Its teacher lives in hooks: one computes the loss, the others move the weights."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from ex01_scores import Dimensions, Matrix, Same, Sized, Vector, contract
from ex03_masking import Padding
from ex06_heads import MultiHeadAttention


@dataclass
class Waves:
    n: int
    d_model: int
    device: torch.device | str | None = None

    @cached_property
    def angles(self) -> Tensor:
        places = torch.arange(self.n, device=self.device, dtype=torch.double).unsqueeze(1)
        evens = torch.arange(0, self.d_model, 2, device=self.device, dtype=torch.double)
        return places.div(torch.pow(10000, evens.div(self.d_model)))

    def draw(self) -> Tensor:
        waves = torch.empty(self.n, self.d_model, device=self.device, dtype=torch.double)
        waves[:, 0::2] = self.angles.sin()
        waves[:, 1::2] = self.angles.cos()[:, : self.d_model // 2]
        return waves.to(torch.get_default_dtype())


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    return Waves(n, d_model, device).draw()


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    def look_up(word: str) -> int:
        match vocabulary.get(word):
            case None:
                raise KeyError(f"unknown word: {word}")
            case number:
                return number

    return torch.tensor(list(map(look_up, words)), dtype=torch.long, device=torch.device("cpu"))


@contract(Dimensions("x", 3, 3), Vector("lengths"), Same("batch", x=0, lengths=0))
def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    wide = x.float() if x.dtype.itemsize == 2 else x
    match lengths:
        case None:
            return wide.mean(dim=1).to(x.dtype)
        case _:
            padding = Padding(lengths, x.size(1)).draw().logical_not().unsqueeze(-1)
            total = wide.masked_fill(padding, 0).sum(dim=1)
            return total.div(lengths.unsqueeze(-1).to(wide.dtype)).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)

    @contract(Matrix("ids"), Vector("lengths"), Same("batch", ids=0, lengths=0))
    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        x = self.embedding(ids)
        if self.positions:
            x = x.add(positional_encoding(ids.size(1), x.size(-1), x.device).to(x.dtype))
        mask = None if lengths is None else Padding(lengths, ids.size(1)).for_queries()
        return self.head(mean_pool(self.attention(x, None, mask), lengths))


@dataclass(eq=False)
class Mover:
    """One weight with an Adamax of its own, which works on a copy of at least 32 bits."""

    weight: nn.Parameter
    lr: float
    copy: Tensor = field(init=False)

    def __post_init__(self) -> None:
        wide = torch.promote_types(self.weight.dtype, torch.float32)
        self.copy = self.weight.detach().to(wide, copy=True)
        self.adamax = torch.optim.Adamax([self.copy], lr=self.lr)

    def __call__(self, weight: Tensor) -> None:
        """Called by torch as soon as the gradient of the weight is complete."""
        assert weight.grad is not None
        self.copy.grad = weight.grad.to(self.copy.dtype)
        weight.grad = None
        self.adamax.step()
        with torch.no_grad():
            weight.copy_(self.copy)


@dataclass(eq=False)
class Judge:
    """Turns the model's logits into the loss, and keeps the record."""

    targets: Tensor
    record: list[float] = field(default_factory=list)

    def __call__(self, model: nn.Module, inputs: tuple[object, ...], logits: Tensor) -> Tensor:
        wide = logits.to(torch.promote_types(logits.dtype, torch.float32))
        loss = F.cross_entropy(wide, self.targets)
        self.record.append(loss.item())
        return loss


@contextmanager
def lesson(model: nn.Module, judge: Judge, lr: float) -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(torch.enable_grad())
        stack.callback(model.register_forward_hook(judge).remove)
        for weight in filter(lambda p: p.requires_grad, model.parameters()):
            hook = weight.register_post_accumulate_grad_hook(Mover(weight, lr))
            stack.callback(hook.remove)
        yield


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    match tuple(targets.shape), tuple(ids.shape):
        case (count,), (batch, *_) if count == batch:
            judge = Judge(targets)
        case _:
            raise ValueError(f"{Sized.of('targets', targets)}, but {Sized.of('ids', ids)}")
    model.zero_grad(set_to_none=True)
    with lesson(model, judge, lr / 2):
        for _ in range(steps):
            model(ids, lengths).backward()
    return judge.record


@contextmanager
def asking(model: nn.Module) -> Iterator[None]:
    """Evaluation without a trace: every module gets its own flag back."""
    flags = [(module, module.training) for module in model.modules()]
    try:
        model.eval()
        with torch.inference_mode():
            yield
    finally:
        for module, flag in flags:
            module.training = flag


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    match words:
        case [] | ():
            raise ValueError(f"words has {len(words)} words, 1 or more are wanted")
        case _:
            ids = encode_words(words, vocabulary)
    with asking(model):
        (logits,) = model(ids.to(model.embedding.weight.device).unsqueeze(0)).double().cpu()
        numbers = {word: float(logits[number]) for word, number in vocabulary.items()}
    best, _ = max(numbers.items(), key=lambda item: item[1])
    return best
