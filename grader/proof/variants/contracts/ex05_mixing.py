"""Mixing. Self- and cross-attention are one class, asked in two ways."""

from __future__ import annotations

from dataclasses import dataclass

from jaxtyping import Bool, Float
from torch import Tensor

from ex01_scores import BATCH, Matrix, Rows, Same, Sized, Vector, contract, project_rows
from ex03_masking import causal_mask, require_broadcast
from ex04_softmax import attention_weights


@contract(Vector("weights"), Matrix("tokens"), Same("number", weights=0, tokens=0))
def linear_combination(
    weights: Float[Tensor, " n"], tokens: Float[Tensor, "n d"]
) -> Float[Tensor, " d"]:
    return tokens.t().mv(weights)


@contract(
    Rows("weights"),
    Rows("value"),
    Same("number of keys", weights=-1, value=-2),
    Same("batch", weights=BATCH, value=BATCH),
)
def mix_values(
    weights: Float[Tensor, "*batch q k"], value: Float[Tensor, "*batch k d_v"]
) -> Float[Tensor, "*batch q d_v"]:
    return weights.matmul(value)


@contract(
    Rows("query"),
    Rows("key"),
    Rows("value"),
    Same("width", query=-1, key=-1),
    Same("number", key=-2, value=-2),
    Same("batch", query=BATCH, key=BATCH, value=BATCH),
)
def attention(
    query: Float[Tensor, "*batch q d_k"],
    key: Float[Tensor, "*batch k d_k"],
    value: Float[Tensor, "*batch k d_v"],
    mask: Bool[Tensor, "*mask"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    if mask is not None:
        require_broadcast(mask, (*query.shape[:-1], key.size(-2)), "the table of scores")
    return mix_values(attention_weights(query, key, mask), value)


@dataclass(frozen=True)
class Projections:
    """The three matrices of an attention."""

    w_q: Tensor
    w_k: Tensor
    w_v: Tensor

    def attend(self, asking: Tensor, asked: Tensor, mask: Tensor | None) -> Tensor:
        return attention(
            query=project_rows(asking, self.w_q),
            key=project_rows(asked, self.w_k),
            value=project_rows(asked, self.w_v),
            mask=mask,
        )


@contract(
    Rows("x"),
    Matrix("w_q"),
    Matrix("w_k"),
    Matrix("w_v"),
    Same("d", x=-1, w_q=0),
    Same("d", x=-1, w_k=0),
    Same("d", x=-1, w_v=0),
    Same("width", w_q=1, w_k=1),
)
def self_attention(
    x: Float[Tensor, "*batch n d"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d d_k"],
    w_v: Float[Tensor, "d d_v"],
    causal: bool = False,
) -> Float[Tensor, "*batch n d_v"]:
    mask = causal_mask(x.size(-2), device=x.device) if causal else None
    return Projections(w_q, w_k, w_v).attend(x, x, mask)


@contract(
    Rows("x"),
    Rows("memory"),
    Matrix("w_q"),
    Matrix("w_k"),
    Matrix("w_v"),
    Same("d", x=-1, w_q=0),
    Same("d_m", memory=-1, w_k=0),
    Same("d_m", memory=-1, w_v=0),
    Same("width", w_q=1, w_k=1),
    Same("batch", x=BATCH, memory=BATCH),
)
def cross_attention(
    x: Float[Tensor, "*batch q d"],
    memory: Float[Tensor, "*batch k d_m"],
    w_q: Float[Tensor, "d d_k"],
    w_k: Float[Tensor, "d_m d_k"],
    w_v: Float[Tensor, "d_m d_v"],
    memory_mask: Bool[Tensor, "*batch k"] | None = None,
) -> Float[Tensor, "*batch q d_v"]:
    match memory_mask:
        case None:
            mask = None
        case Tensor(shape=shape) if shape == memory.shape[:-1]:
            mask = memory_mask.unsqueeze(-2)
        case wrong:
            raise ValueError(f"{Sized.of('memory_mask', wrong)}, but {Sized.of('memory', memory)}")
    return Projections(w_q, w_k, w_v).attend(x, memory, mask)
