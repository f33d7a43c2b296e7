"""Chapter 6. Heads, with a HeadPlan that knows how features are dealt out."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from ex05_mixing import attention


class SizeTrouble(ValueError):
    """Thrown when sizes do not go together."""


class Gatekeeper:
    """Lets sizes pass or throws a SizeTrouble."""

    @staticmethod
    def sizes(tensor: Tensor) -> str:
        if tensor.dim() == 0:
            return "0 axes"
        labels = ["rows", "cols"] if tensor.dim() > 1 else ["length"]
        leading = [f"axis{number}" for number in range(tensor.dim() - len(labels))]
        return ", ".join(
            f"{label}={size}" for label, size in zip(leading + labels, tensor.shape, strict=True)
        )

    @classmethod
    def insist(cls, condition: bool, wish: str, **tensors: Tensor) -> None:
        if condition:
            return
        facts = "; ".join(f"{name} has {cls.sizes(tensor)}" for name, tensor in tensors.items())
        raise SizeTrouble(f"{wish}. But {facts}.")

    @classmethod
    def insist_on_axes(cls, least: int, **tensors: Tensor) -> None:
        for name, tensor in tensors.items():
            cls.insist(
                tensor.dim() >= least, f"{name} should have {least} axes or more", **{name: tensor}
            )

    @classmethod
    def insist_on_one_batch(cls, **tensors: Tensor) -> None:
        batches = [tensor.shape[:-2] for tensor in tensors.values()]
        cls.insist(
            all(batch == batches[0] for batch in batches),
            f"{', '.join(tensors)} should come in one and the same batch",
            **tensors,
        )


@dataclass(frozen=True)
class HeadPlan:
    """How d_model features are dealt out to n_heads heads."""

    d_model: int
    n_heads: int

    def __post_init__(self) -> None:
        if self.n_heads < 1:
            raise SizeTrouble(f"At least one head is needed, not n_heads={self.n_heads}.")
        if self.d_model % self.n_heads:
            raise SizeTrouble(
                f"d_model={self.d_model} features cannot be dealt out evenly to "
                f"n_heads={self.n_heads} heads."
            )

    @property
    def d_head(self) -> int:
        return self.d_model // self.n_heads

    def split(self, x: Tensor) -> Tensor:
        """Cut out one block of columns per head and stack the blocks before the tokens."""
        blocks = [
            x.narrow(-1, head * self.d_head, self.d_head) for head in range(self.n_heads)
        ]
        return torch.stack(blocks, dim=-3)

    @staticmethod
    def merge(x: Tensor) -> Tensor:
        """Lay the heads side by side."""
        return torch.cat(x.unbind(-3), dim=-1)


class HeadedMask:
    """A mask that knows nothing of heads, made to fit scores that have them."""

    def __init__(self, mask: Tensor, query: Tensor, key: Tensor) -> None:
        goal = (*query.shape[:-1], key.size(-2))
        spare = len(goal) - mask.dim()
        fits = spare >= 0 and all(
            size == 1 or size == wanted
            for size, wanted in zip(mask.shape, goal[spare:], strict=True)
        )
        Gatekeeper.insist(
            fits, f"mask should broadcast to {list(goal)}", mask=mask, query=query, key=key
        )
        self._mask = mask

    def for_heads(self) -> Tensor:
        return self._mask if self._mask.dim() < 3 else self._mask.unsqueeze(-3)


@dataclass
class Committee:
    """Several heads that answer one question each."""

    query: Tensor
    key: Tensor
    value: Tensor
    n_heads: int

    def answer(self, mask: Tensor | None) -> Tensor:
        members = {"query": self.query, "key": self.key, "value": self.value}
        Gatekeeper.insist_on_axes(2, **members)
        Gatekeeper.insist(
            len({member.size(-1) for member in members.values()}) == 1,
            "query, key and value should be equally wide",
            **members,
        )
        Gatekeeper.insist(
            self.key.size(-2) == self.value.size(-2),
            "there should be one value for each key",
            key=self.key,
            value=self.value,
        )
        Gatekeeper.insist_on_one_batch(**members)
        plan = HeadPlan(self.query.size(-1), self.n_heads)
        allowed = None if mask is None else HeadedMask(mask, self.query, self.key).for_heads()
        pieces = [plan.split(member) for member in members.values()]
        return plan.merge(attention(*pieces, allowed))


def split_heads(
    x: Float[Tensor, "*batch n d_model"], n_heads: int
) -> Float[Tensor, "*batch n_heads n d_head"]:
    Gatekeeper.insist_on_axes(2, x=x)
    return HeadPlan(x.size(-1), n_heads).split(x)


def merge_heads(
    x: Float[Tensor, "*batch n_heads n d_head"],
) -> Float[Tensor, "*batch n n_heads*d_head"]:
    Gatekeeper.insist_on_axes(3, x=x)
    return HeadPlan.merge(x)


def multi_head(
    query: Float[Tensor, "*batch q d_model"],
    key: Float[Tensor, "*batch k d_model"],
    value: Float[Tensor, "*batch k d_model"],
    n_heads: int,
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_model"]:
    return Committee(query, key, value, n_heads).answer(mask)


class MultiHeadAttention(nn.Module):
    """Four layers around a committee of heads."""

    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        plan = HeadPlan(d_model, n_heads)
        super().__init__()
        self._plan = plan
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.add_module(name, nn.Linear(plan.d_model, plan.d_model, bias=bias))

    def extra_repr(self) -> str:
        return f"n_heads={self._plan.n_heads}"

    def forward(
        self,
        x: Float[Tensor, "*batch q d_model"],
        memory: Float[Tensor, "*batch k d_model"] | None = None,
        mask: Bool[Tensor, "*mask"] | None = None,
    ) -> Float[Tensor, "*batch q d_model"]:
        source = x if memory is None else memory
        guests = {"x": x} if memory is None else {"x": x, "memory": memory}
        Gatekeeper.insist_on_axes(2, **guests)
        for name, guest in guests.items():
            Gatekeeper.insist(
                guest.size(-1) == self._plan.d_model,
                f"{name} should have d_model={self._plan.d_model} cols",
                **{name: guest},
            )
        Gatekeeper.insist_on_one_batch(**guests)
        committee = Committee(
            self.w_q(x), self.w_k(source), self.w_v(source), self._plan.n_heads
        )
        return self.w_o(committee.answer(mask))
