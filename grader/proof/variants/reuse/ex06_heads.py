"""Style reuse: splitting is merging the other way round; the layers go through project_linear."""

from __future__ import annotations

from torch import Tensor, nn

from exercises.ex01_scores import project_linear
from exercises.ex03_masking import apply_mask
from exercises.ex05_mixing import attention


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    if x.dim() < 2 or n_heads < 1 or x.size(-1) % n_heads:
        raise ValueError(f"No {n_heads} heads out of tokens of {x.size()}.")
    d_head = x.size(-1) // n_heads
    if x.numel() == 0:
        return x.reshape(*x.size()[:-2], n_heads, x.size(-2), d_head)
    return x.unfold(-1, d_head, d_head).transpose(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    if x.dim() < 3:
        raise ValueError(f"No heads in {x.size()}.")
    return x.transpose(-2, -3).flatten(-2)


def multi_head(
    query: Tensor, key: Tensor, value: Tensor, n_heads: int, mask: Tensor | None = None
) -> Tensor:
    if query.dim() < 2 or key.size() != value.size() or query.size(-1) != key.size(-1):
        raise ValueError(f"No heads for {query.size()}, {key.size()} and {value.size()}.")
    if query.size()[:-2] != key.size()[:-2]:
        raise ValueError(f"The batches of {query.size()} and {key.size()} are not the same.")
    if mask is not None:
        # one page of scores, all 0, through the mask: what became infinite is closed
        page = query.new_zeros(*query.size()[:-1], key.size(-2))
        mask = ~apply_mask(page, mask).isinf()[..., None, :, :]
    parts = [split_heads(tensor, n_heads) for tensor in (query, key, value)]
    return merge_heads(attention(*parts, mask))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, bias: bool = True) -> None:
        super().__init__()
        if n_heads < 1 or d_model % n_heads:
            raise ValueError(f"No {n_heads} equal heads out of {d_model} features.")
        self.n_heads = n_heads
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, nn.Linear(d_model, d_model, bias=bias))

    def forward(
        self, x: Tensor, memory: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        memory = x if memory is None else memory
        query = project_linear(x, self.w_q.weight, self.w_q.bias)
        key = project_linear(memory, self.w_k.weight, self.w_k.bias)
        value = project_linear(memory, self.w_v.weight, self.w_v.bias)
        heads = multi_head(query, key, value, self.n_heads, mask)
        return project_linear(heads, self.w_o.weight, self.w_o.bias)
