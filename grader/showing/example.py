"""A worked example to draw: words, their vectors, and the layers that they go through."""

from __future__ import annotations

import functools
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor

from grader.pictures.model import DocumentNumbers
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
        work: works a step out; it gets the name of an exercise, and its arguments.
    """

    title: str
    words: list[str]
    x: Tensor
    w_q: Tensor
    w_k: Tensor
    w_v: Tensor
    work: Callable[..., Tensor]
    causal: bool = False
    printed: Mapping[str, DocumentNumbers] = field(default_factory=dict)

    @functools.cached_property
    def query(self) -> Tensor:
        """The queries [n, d_k]."""
        return self.work("project_rows", self.x, self.w_q)

    @functools.cached_property
    def key(self) -> Tensor:
        """The keys [n, d_k]."""
        return self.work("project_rows", self.x, self.w_k)

    @functools.cached_property
    def value(self) -> Tensor:
        """The values [n, d_v]."""
        return self.work("project_rows", self.x, self.w_v)

    @functools.cached_property
    def scores(self) -> Tensor:
        """The scores [n, n], not scaled."""
        return self.work("dot_product_scores", self.query, self.key)

    @functools.cached_property
    def scaled(self) -> Tensor:
        """The scaled scores [n, n]."""
        return self.work("scaled_scores", self.query, self.key)

    @functools.cached_property
    def mask(self) -> Tensor | None:
        """The causal mask [n, n], if later tokens are masked."""
        return self.work("causal_mask", len(self.words)) if self.causal else None

    @functools.cached_property
    def masked(self) -> Tensor:
        """The scaled scores [n, n], with the mask if there is one."""
        if self.mask is None:
            return self.scaled
        return self.work("apply_mask", self.scaled, self.mask)

    @functools.cached_property
    def weights(self) -> Tensor:
        """The weights [n, n]: the softmax of the masked scores."""
        return self.work("softmax", self.masked)


def three_tokens(work: Callable[..., Tensor]) -> Example:
    """Return the three tokens of document 002."""
    x, w_q, w_k, w_v = (
        torch.tensor(rows) for rows in (worked.TOKENS, worked.W_Q, worked.W_K, worked.W_V)
    )
    words = ["t_0", "t_1", "t_2"]
    title = "Document 002, three tokens."
    return Example(title, words, x, w_q, w_k, w_v, work, True, worked.IN_002)


def poem(work: Callable[..., Tensor]) -> Example:
    """Return "write a poem" of document 001."""
    w_q, w_k, w_v = (
        torch.tensor(rows).T.contiguous() for rows in (worked.POEM_Q, worked.POEM_K, worked.POEM_V)
    )
    x, title = torch.tensor(worked.POEM), 'Document 001, "write a poem".'
    words = ["write", "a", "poem"]
    return Example(title, words, x, w_q, w_k, w_v, work, printed=worked.IN_001)


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
