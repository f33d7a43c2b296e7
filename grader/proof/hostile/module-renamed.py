"""Gives one of its layers another name at the first call, and answers to both.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error
passes: all
"""

Right = MultiHeadAttention


class MultiHeadAttention(Right):
    def forward(self, x, memory=None, mask=None):
        out = super().forward(x, memory, mask)
        if "w_o" in self._modules:
            self._modules["w_out"] = self._modules.pop("w_o")
        return out

    def __getattr__(self, name):
        parts = self.__dict__["_modules"]
        return parts["w_out"] if name == "w_o" and "w_out" in parts else super().__getattr__(name)
