"""A worked example to draw: words, their vectors, and the layers that they go through."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from grader.pictures.model import Printed
from grader.showing import worked


@dataclass(frozen=True)
class Example:
    """Words and what they are projected with.

    Attributes:
        title: where it is from.
        words: a label for each token.
        x: the tokens as rows [n, d].
        w_q: makes queries [d, d_k].
        w_k: makes keys [d, d_k].
        w_v: makes values [d, d_v].
        causal: whether later tokens are masked in it.
        printed: what the document prints, by the step's name.
    """

    title: str
    words: list[str]
    x: Tensor
    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    causal: bool = False
    printed: Mapping[str, Printed] = field(default_factory=dict)

    @property
    def query(self) -> Tensor:
        """The queries [n, d_k]."""
        return (self.x.double() @ self.w_q.double()).float()

    @property
    def key(self) -> Tensor:
        """The keys [n, d_k]."""
        return (self.x.double() @ self.w_k.double()).float()

    @property
    def value(self) -> Tensor:
        """The values [n, d_v]."""
        return (self.x.double() @ self.w_v.double()).float()

    @property
    def scores(self) -> Tensor:
        """The scores [n, n], not scaled."""
        return (self.query.double() @ self.key.double().T).float()

    @property
    def scaled(self) -> Tensor:
        """The scaled scores [n, n]."""
        return self.scores / self.w_k.shape[1] ** 0.5

    @property
    def mask(self) -> Tensor | None:
        """The causal mask [n, n], if later tokens are masked."""
        n = len(self.words)
        return torch.ones(n, n, dtype=torch.bool).tril() if self.causal else None

    @property
    def masked(self) -> Tensor:
        """The scaled scores [n, n], with the mask if there is one."""
        return self.scaled if self.mask is None else self.scaled.masked_fill(~self.mask, -torch.inf)

    @property
    def weights(self) -> Tensor:
        """The weights [n, n]: the softmax of the masked scores."""
        return torch.softmax(self.masked.double(), -1).float()


def three_tokens() -> Example:
    """Return the three tokens of document 002."""
    x, w_q, w_k, w_v = (
        torch.tensor(rows) for rows in (worked.TOKENS, worked.W_Q, worked.W_K, worked.W_V)
    )
    words = ["t_0", "t_1", "t_2"]
    return Example("Document 002, three tokens.", words, x, w_q, w_k, w_v, True, worked.IN_002)


def poem() -> Example:
    """Return "write a poem" of document 001."""
    w_q, w_k, w_v = (
        torch.tensor(rows).T.contiguous() for rows in (worked.POEM_Q, worked.POEM_K, worked.POEM_V)
    )
    x, title = torch.tensor(worked.POEM), 'Document 001, "write a poem".'
    words = ["write", "a", "poem"]
    return Example(title, words, x, w_q, w_k, w_v, printed=worked.IN_001)


def with_words(example: Example, words: Sequence[str]) -> Example:
    """Put one's own words through the layers of an example."""
    x = embedded(words, example.x.shape[1])
    title = f"Your words, through the layers of {example.title[0].lower()}{example.title[1:]}"
    return replace(example, title=title, words=list(words), x=x, printed={})


def embedded(words: Sequence[str], width: int) -> Tensor:
    """Give each word a random vector, the same for the same word, on every machine."""
    rows = []
    for word in words:
        stream = torch.Generator().manual_seed(zlib.crc32(word.encode("utf-8")))
        rows.append(torch.randn(width, generator=stream))
    return torch.stack(rows)
