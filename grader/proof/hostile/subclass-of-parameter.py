"""Returns a Parameter of its own kind that lies about its values, its shape and its dtype.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


class Liar(torch.nn.Parameter):
    shape = property(lambda self: torch.Size([5, 7]))
    dtype = property(lambda self: torch.float64)
    requires_grad = property(lambda self: True)
    is_cpu = property(lambda self: True)

    def detach(self):
        return torch.zeros(5, 7)

    def numel(self):
        return 35


def scaled_scores(query, key):
    return Liar(torch.full((2, 2), 0.5))
