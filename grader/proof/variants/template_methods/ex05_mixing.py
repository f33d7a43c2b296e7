"""Chapter 5. Mixing, with a Mixer, a Listener and its two subclasses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import project_rows
from ex03_masking import causal_mask
from ex04_softmax import attention_weights


class SizeTrouble(ValueError):
    """Thrown when sizes do not go together."""


class Report:
    """Builds the text of a SizeTrouble from the tensors concerned."""

    def __init__(self, **tensors: Tensor) -> None:
        self._tensors = tensors

    def _picture(self, name: str) -> str:
        sizes = list(self._tensors[name].shape)
        if len(sizes) == 2:
            return f"{name}: rows={sizes[0]}, cols={sizes[1]}"
        return f"{name}: {len(sizes)} axes {sizes}"

    def demand(self, holds: bool, rule: str) -> None:
        if not holds:
            raise SizeTrouble(f"{rule} -- {' | '.join(map(self._picture, self._tensors))}")

    def demand_axes(self, least: int, *names: str) -> None:
        for name in names:
            self.demand(
                self._tensors[name].dim() >= least, f"{name} needs at least {least} axes"
            )

    def demand_same_batch(self) -> None:
        batches = {tuple(tensor.shape[:-2]) for tensor in self._tensors.values()}
        self.demand(len(batches) == 1, f"{' and '.join(self._tensors)} need one batch")


@dataclass
class SingleMixture:
    weights: Tensor
    tokens: Tensor

    def pour(self) -> Tensor:
        report = Report(weights=self.weights, tokens=self.tokens)
        report.demand(self.weights.dim() == 1, "weights has to be a vector")
        report.demand(self.tokens.dim() == 2, "tokens has to be a matrix")
        report.demand(
            self.weights.size(0) == self.tokens.size(0), "each token needs exactly one weight"
        )
        return torch.einsum("n,nd->d", self.weights, self.tokens)


@dataclass
class Mixer:
    weights: Tensor
    value: Tensor

    def pour(self) -> Tensor:
        report = Report(weights=self.weights, value=self.value)
        report.demand_axes(2, "weights", "value")
        report.demand(
            self.weights.size(-1) == self.value.size(-2),
            "the cols of weights and the rows of value count the same keys",
        )
        report.demand_same_batch()
        return torch.einsum("...qk,...kd->...qd", self.weights, self.value)


@dataclass
class Conversation:
    query: Tensor
    key: Tensor
    value: Tensor

    def hold(self, mask: Tensor | None) -> Tensor:
        report = Report(query=self.query, key=self.key, value=self.value)
        report.demand_axes(2, "query", "key", "value")
        report.demand(
            self.query.size(-1) == self.key.size(-1), "query and key need the same width"
        )
        report.demand(
            self.key.size(-2) == self.value.size(-2), "every key needs exactly one value"
        )
        report.demand_same_batch()
        return Mixer(attention_weights(self.query, self.key, mask), self.value).pour()


@dataclass
class Listener(ABC):
    """Projects, then holds a conversation. Subclasses say with whom."""

    x: Tensor
    w_q: Tensor
    w_k: Tensor
    w_v: Tensor

    @abstractmethod
    def source(self) -> tuple[str, Tensor]:
        """The name and the tokens of what is listened to."""

    @abstractmethod
    def permissions(self) -> Tensor | None:
        """The mask, if any."""

    def check(self) -> None:
        name, source = self.source()
        report = Report(**{"x": self.x, name: source})
        report.demand_axes(2, "x", name)
        report.demand_same_batch()
        pairs = {"w_q": ("x", self.x), "w_k": (name, source), "w_v": (name, source)}
        for label, (owner, tokens) in pairs.items():
            matrix = getattr(self, label)
            Report(**{label: matrix, owner: tokens}).demand(
                matrix.dim() == 2 and matrix.size(0) == tokens.size(-1),
                f"{label} has to be a matrix with {tokens.size(-1)} rows",
            )
        Report(w_q=self.w_q, w_k=self.w_k).demand(
            self.w_q.size(1) == self.w_k.size(1), "w_q and w_k need the same cols"
        )

    def listen(self) -> Tensor:
        self.check()
        _, source = self.source()
        return Conversation(
            query=project_rows(self.x, self.w_q),
            key=project_rows(source, self.w_k),
            value=project_rows(source, self.w_v),
        ).hold(self.permissions())


@dataclass
class SelfListener(Listener):
    causal: bool = False

    def source(self) -> tuple[str, Tensor]:
        return "x", self.x

    def permissions(self) -> Tensor | None:
        return causal_mask(self.x.size(-2), self.x.device) if self.causal else None


@dataclass
class CrossListener(Listener):
    memory: Tensor
    memory_mask: Tensor | None = None

    def source(self) -> tuple[str, Tensor]:
        return "memory", self.memory

    def check(self) -> None:
        super().check()
        if self.memory_mask is not None:
            Report(memory_mask=self.memory_mask, memory=self.memory).demand(
                self.memory_mask.shape == self.memory.shape[:-1],
                f"memory_mask has to be exactly {list(self.memory.shape[:-1])}",
            )

    def permissions(self) -> Tensor | None:
        return None if self.memory_mask is None else self.memory_mask.unsqueeze(-2)


def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    return SingleMixture(weights, tokens).pour()


def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    return Mixer(weights, value).pour()


def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    return Conversation(query, key, value).hold(mask)


def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    return SelfListener(x, w_q, w_k, w_v, causal).listen()


def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    return CrossListener(x, w_q, w_k, w_v, memory, memory_mask).listen()
