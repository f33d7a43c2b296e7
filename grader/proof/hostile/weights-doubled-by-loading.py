"""Doubles all weights when they are loaded, so that the suite's own never run.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error
passes: all
"""


class Doubling(MultiHeadAttention):
    def load_state_dict(self, weights, strict=True, assign=False):
        return super().load_state_dict({n: 2 * w for n, w in weights.items()}, strict)


MultiHeadAttention = Doubling
