"""A function in the other process, as the suites call it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.remote.world import RemoteWorld


class RemoteFunction:
    """An exercise in the other process, or a method of what one has made there.

    Args:
        world: the answers.
        where: which one is meant.
    """

    # its own world sees what becomes of inputs, and puts switches back
    watches_itself = True

    def __init__(self, world: RemoteWorld, where: dict[str, Any]) -> None:
        self.world, self.where = world, where

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it."""
        return self.world.call(self.where, args, kwargs)

    def twice(self, args: Any, kwargs: Any, same: bool) -> Any:
        """Call it twice alike; what the first call gives is overwritten over there."""
        return self.world.call(self.where, args, kwargs, again="same" if same else "equal")

    def changed(self, before: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """Call it with what was before, and with the same tensors after they were changed."""
        return self.world.call(self.where, args, kwargs, before=before)

    def repeated(self, times: int, *args: Any) -> list[Any]:
        """Call it many times in one go."""
        made = self.world.call(self.where, args, {}, times)
        if type(made) is not list or len(made) != times:
            raise self.world.nonsense("not as many results as calls")
        return made
