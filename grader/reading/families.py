"""What a chapter may ask to do without: a family of PyTorch's calls. The suites declare them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Family(NamedTuple):
    """Ready-made calls, as they are looked for.

    Attributes:
        name: what a student calls them.
        pattern: fits the names that they go by in Python and in the dispatcher.
        kernels: what the calls come to, in ATen's names, with the kind of tensor that each is for:
            "", "Sparse" or "Mkldnn".
    """

    name: str
    pattern: str
    kernels: tuple[tuple[str, str], ...] = ()

    def holds(self, name: str) -> bool:
        """Tell whether a name is that of such a call."""
        return re.search(self.pattern, name) is not None

    @classmethod
    def read(cls, said: Any) -> Family:
        """Read one that has come in a message."""
        name, pattern, kernels = said
        return cls(name, pattern, tuple((kernel, kind) for kernel, kind in kernels))
