"""Gives a module whose attributes, parameters and state change each time somebody looks.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error
passes: module_is_your_own, module_has_four_layers
"""

import itertools

turn = itertools.count()


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, torch.nn.Linear(d_model, d_model, bias=bias))

    def state_dict(self, *_, **__):
        return {"w_q.weight": "right"}

    def named_parameters(self, *_, **__):
        if next(turn) % 2:
            yield "w_q.weight", torch.nn.Parameter(torch.ones(2, 2))
        yield "w_k.weight", torch.nn.UninitializedParameter()

    def __deepcopy__(self, memo):
        return 17

    def forward(self, x, memory=None, mask=None):
        return self.w_o(x)
