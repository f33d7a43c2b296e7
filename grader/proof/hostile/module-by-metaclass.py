"""Is a class whose call gives something else: a module of another class, each time another one.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error
passes: module_is_your_own
"""


class Meta(type):
    def __call__(cls, *args, **kwargs):
        return torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.Identity())

    def __instancecheck__(cls, other):
        return True


class MultiHeadAttention(metaclass=Meta):
    pass
