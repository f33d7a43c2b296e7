"""Objects that the judge has made for an answer: their state and their methods stay with it."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from grader.remote.lent import call_of, joined, wanted
from grader.remote.wire import Parcel

if TYPE_CHECKING:
    from grader.remote.worker import Worker


class LentObject:
    """An object of a class that is lent; each use of it is asked of the judge."""

    kit_worker: Worker
    kit_number: int

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        reply = self._ask("attribute", {"name": name})
        if reply.header.get("method") is True:
            return functools.partial(self._call, name)
        return joined(self.kit_worker, reply, [], None)

    def __deepcopy__(self, memo: dict[int, Any]) -> LentObject:
        """Have the judge copy it."""
        twin = type(self).__new__(type(self))
        twin.kit_number = self._ask("copy", {}).header["object"]
        memo[id(self)] = twin
        return twin

    def _ask(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Any:
        return self.kit_worker.ask(kind, {"lent": self.kit_number, **say}, parcel)

    def _call(self, name: str, *args: Any, **kwargs: Any) -> Any:
        say, parcel, leaves = call_of(self.kit_worker, (args, kwargs))
        reply = self._ask("method", {"name": name, **say}, parcel)
        return joined(self.kit_worker, reply, leaves, wanted(args, kwargs))


def lent_class_of_objects(worker: Worker, number: int, name: str) -> type[LentObject]:
    """Make a class whose objects the judge makes."""

    def make(self: LentObject, *args: Any, **kwargs: Any) -> None:
        parcel = worker.asking()
        say = {"lent": number, "seed": 0, "value": parcel.pack((args, kwargs))}
        self.kit_number = worker.ask("construct", say, parcel).header["object"]

    return type(name, (LentObject,), {"__init__": make, "kit_worker": worker})
