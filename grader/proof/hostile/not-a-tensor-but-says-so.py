"""Returns an object whose __class__ is Tensor, and that is equal to everything.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""


class Pretender:
    __class__ = torch.Tensor

    def __getattr__(self, name):
        return getattr(torch.zeros(5, 7), name)

    def __eq__(self, other):
        return True

    __hash__ = None

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return torch.ones(5, 7, dtype=torch.bool)


def scaled_scores(query, key):
    return Pretender()
