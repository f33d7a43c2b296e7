"""Hides the lying tensor in a tuple, a list and a dictionary that unpack to something else.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
"""


class Pair(tuple):
    def __iter__(self):
        return iter([torch.zeros(5, 7)] * 3)

    def __len__(self):
        return -1

    def __getattr__(self, name):
        return getattr(torch.zeros(5, 7), name)


def scaled_scores(query, key):
    return Pair((query, [key, {"a": Pair((query,))}]))
