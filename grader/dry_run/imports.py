"""Imports on the pretended machine: a module is loaded as if it were not there.

What PyTorch imports late looks for GPUs while it is loaded, and would be left half loaded for good.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

Leave = Callable[[], contextlib.AbstractContextManager[None]]


class _Aside(Loader):
    """Loads a module as another loader does, off the machine."""

    def __init__(self, loader: Any, leave: Leave) -> None:
        self._loader, self._leave = loader, leave

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        """Make the module."""
        with self._leave():
            made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Run the module; from then on it knows its own loader only."""
        if module.__spec__ is not None:
            module.__spec__.loader = self._loader
        module.__loader__ = self._loader
        with self._leave():
            self._loader.exec_module(module)


class _Finder(MetaPathFinder):
    def __init__(self, leave: Leave) -> None:
        self._leave = leave

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        for finder in sys.meta_path:
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    if hasattr(spec.loader, "exec_module"):
                        spec.loader = _Aside(spec.loader, self._leave)
                    return spec
        return None


@contextlib.contextmanager
def aside(leave: Leave) -> Iterator[None]:
    """Load every module that is imported inside under the context that `leave` makes."""
    finder = _Finder(leave)
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
