"""Hides a ready-made attention in a plain list, where no list of submodules shows it.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: forbidden, failed, error
passes: module_has_four_layers
"""


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        for name in ("w_q", "w_k", "w_v", "w_o"):
            setattr(self, name, torch.nn.Linear(d_model, d_model, bias=bias))
        self.__dict__["hidden"] = [torch.nn.MultiheadAttention(d_model, n_heads, batch_first=True)]

    def forward(self, x, memory=None, mask=None):
        memory = x if memory is None else memory
        return self.hidden[0](x, memory, memory)[0]
