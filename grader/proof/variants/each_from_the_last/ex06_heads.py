from __future__ import annotations

from torch import Tensor, nn

from ex01_scores import project_linear, spelled
from ex05_mixing import fold, many_heads, unfold


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    return fold(x, n_heads)


def merge_heads(x: Tensor) -> Tensor:
    return unfold(x)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    if len({part.shape[-1:] for part in (query, key, value)}) > 1:
        raise ValueError(
            "the heads cut up vectors of one width: query is "
            f"{spelled(query)}, key is {spelled(key)}, value is {spelled(value)}"
        )
    return many_heads(query, key, value, n_heads, mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features")
        self.n_heads = n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            self.add_module(name, nn.Linear(d_model, d_model, bias))

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        sources = (x,) + (x if memory is None else memory,) * 2
        parts = [
            project_linear(source, layer.weight, layer.bias)
            for source, layer in zip(sources, (self.w_q, self.w_k, self.w_v), strict=True)
        ]
        heads = multi_head(*parts, self.n_heads, mask)
        return project_linear(heads, self.w_o.weight, self.w_o.bias)
