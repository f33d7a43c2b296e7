"""Gives a module that is a part of itself, a thousand deep, and shares one weight everywhere.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error, crashed, timeout
passes: module_is_your_own
"""


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        shared = torch.nn.Linear(d_model, d_model, bias=bias)
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, shared)
        inner = self
        for _ in range(300):
            inner.deeper = torch.nn.Module()
            inner = inner.deeper
        inner.deeper = self

    def forward(self, x, memory=None, mask=None):
        return self.w_o(x)
