"""Doubles all weights in a hook that runs after they were loaded.

chapter: ex06_heads
earns: split_heads, merge_heads, multi_head
outcomes: failed, error
passes: all
"""


class Doubling(MultiHeadAttention):
    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.register_load_state_dict_post_hook(self.double)

    @staticmethod
    def double(module, _):
        with torch.no_grad():
            for weight in module.parameters():
                weight.mul_(2)


MultiHeadAttention = Doubling
