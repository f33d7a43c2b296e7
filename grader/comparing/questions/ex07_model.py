"""Chapter 7: tables filled by hand, and a model that cannot but learn them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

IDS, LENGTHS = torch.tensor([[0, 1, 2], [0, 1, 3]]), torch.tensor([3, 2])
X = torch.tensor([[[4.0, -8.0], [12.0, 0.0], [7.0, 7.0]], [[1.0, 3.0], [5.0, 7.0], [9.0, 2.0]]])
VOCABULARY = {"not": 0, "do": 1, "like": 2, "hate": 3}
# a share of 60 for each word, and whether it asks for shares or takes all alike
SHARES = torch.tensor([[7.0, 1.0], [13.0, 0.0], [40.0, 1.0], [30.0, 0.0]])
TABLE = torch.tensor([[4.0, 8.0], [-12.0, 4.0], [16.0, -4.0], [0.0, 20.0]])


class Bag(nn.Module):
    """A model without attention: the mean of the words' vectors, and a layer upon it."""

    def __init__(self, vocab_size: int, width: int) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(vocab_size, width), nn.Linear(width, vocab_size)

    def forward(self, ids: Tensor, lengths: Tensor | None = None) -> Tensor:
        """Return the logits; every token is real."""
        del lengths
        logits: Tensor = self.head(self.embedding(ids).mean(1))
        return logits


def _filled(model: Any, table: Tensor = TABLE) -> Any:
    with torch.no_grad():
        model.embedding.weight.copy_(table)
        model.head.weight.copy_(TABLE.flip(0))
        model.head.bias.copy_(torch.arange(4.0))
    return model


def _logits(kind: Any) -> list[Tensor]:
    """Let the keys be logarithms of shares, and queries and values the other feature."""
    table = torch.stack((SHARES[:, 0].log(), SHARES[:, 1]), -1)
    rows = {"w_q": (0, 1), "w_k": (1, 0), "w_v": (0, 1), "w_o": (2, 1)}
    said = []
    for positions, times in ((False, 360), (True, 1)):
        model = _filled(kind(4, 2, n_heads=2, positions=positions), table)
        with torch.no_grad():
            for name, part in dict(model.attention.named_children()).items():
                part.weight.copy_(torch.tensor(rows[name]).expand(2, 2))
                part.bias.fill_(3.0 if name == "w_v" else 0.0)
            said += [times * model(IDS[:1]), times * model(IDS, LENGTHS)]
    return said


def _trained(train: Any) -> list[Any]:
    model, ids, targets = Bag(3, 3), torch.arange(3)[:, None], torch.tensor([1, 2, 0])
    with torch.no_grad():
        model.embedding.weight.copy_(torch.eye(3))
        model.head.weight.zero_()
        model.head.bias.zero_()
    losses = train(model, ids, targets, steps=40)
    # at first 1.0986 = log 3, a coin with three sides
    return [len(losses), 10 * losses[0], model(ids).argmax(-1)]


QUESTIONS = {
    "positional_encoding": lambda f: [100 * f(2, 3), 40 * f(3, 2)],
    "encode_words": lambda f: [f(list(VOCABULARY), VOCABULARY), f(["hate", "do"], VOCABULARY)],
    "mean_pool": lambda f: [6 * f(X), f(X[:, :2], torch.tensor([1, 2]))],
    "NextWordModel": _logits,
    "train": _trained,
    "predict": lambda f: [
        f(_filled(Bag(4, 2)), words, VOCABULARY)
        for words in (["not"], ["do"], ["like", "like"], ["hate", "do"])
    ],
}
