"""Adds a layer that nobody asked for, at the first call.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
partly: MultiHeadAttention
outcomes: failed, error
passes: all
"""

Right = MultiHeadAttention


class MultiHeadAttention(Right):
    def forward(self, x, memory=None, mask=None):
        if not hasattr(self, "extra"):
            self.extra = torch.nn.Linear(3, 3)
        return super().forward(x, memory, mask)
