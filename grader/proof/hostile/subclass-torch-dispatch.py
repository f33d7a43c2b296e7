"""Returns a tensor without numbers, whose __torch_dispatch__ makes up whatever it is asked for.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


class Liar(torch.Tensor):
    @staticmethod
    def __new__(cls, like, shape):
        return torch.Tensor._make_wrapper_subclass(cls, shape, dtype=like.dtype)

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return torch.ones(args[0].shape, dtype=torch.bool)


def scaled_scores(query, key):
    return Liar(query, (*query.shape[:-1], key.shape[-2]))
