"""Puts an importer of its own before all others, which gives out modules that agree to everything.

chapter: ex02_scaling
earns: score_spread
outcomes: failed, error
at most: scale_scores, score_spread
"""

import sys
import types


class Yes(types.ModuleType):
    def __getattr__(self, name):
        return lambda *_, **__: True


class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        sys.modules[name] = Yes(name)
        return None


sys.meta_path.insert(0, Finder)
sys.path_hooks.insert(0, lambda path: Finder)
for name in list(sys.modules):
    if name.startswith(("grader.", "json", "ex01")):
        sys.modules[name] = Yes(name)


def scaled_scores(query, key):
    return query
