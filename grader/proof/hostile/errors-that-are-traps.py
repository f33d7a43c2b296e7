"""Raises an error whose class, name, text, arguments and traceback are all traps.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error, crashed
"""


class Trap(type):
    def __getattribute__(cls, name):
        if name in ("__mro__", "__name__"):
            raise KeyError(name)
        return super().__getattribute__(name)

    def __instancecheck__(cls, other):
        return True

    def __subclasscheck__(cls, other):
        return True


class Trapped(Exception, metaclass=Trap):
    __class__ = property(lambda self: int)

    def __str__(self):
        return self.__repr__()

    def __repr__(self):
        raise SystemExit("no text")

    def __getattr__(self, name):
        raise KeyError(name)


def scaled_scores(query, key):
    raise Trapped("x")
