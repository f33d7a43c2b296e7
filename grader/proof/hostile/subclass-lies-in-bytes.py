"""Returns a tensor whose detach, numpy and tobytes hand out bytes that no tensor has.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


class Bytes:
    def tobytes(self):
        return b"\x7f" * 10**6

    def __getattr__(self, name):
        return lambda *_, **__: self


class Liar(torch.Tensor):
    def detach(self):
        return self

    def numpy(self, **_):
        return Bytes()

    def is_contiguous(self, **_):
        return True


def scaled_scores(query, key):
    return torch.randn(*query.shape[:-1], key.shape[-2]).to(query.dtype).as_subclass(Liar)
