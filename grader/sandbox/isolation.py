"""Which walls a machine gives to a user, and what is lost where one is missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

Rights = Literal["root", "user", "none"]
Count = Literal["own", "shared", "none"]
LAYERS = ("landlock", "seccomp", "namespaces", "own_uid", "capabilities", "limits")
_LOST_WITH_GPU = (
    "A submission on a GPU can call the GPU's drivers, and any mistake that they have.",
    "A submission on a GPU can use far more memory than it should: that is watched from outside.",
)
_SEES_NUMBERS = (
    "A submission on a GPU can see which numbers of processes are in use, and by which user.",
)
_TRUNCATION_SINCE, _SIGNALS_SINCE = 3, 6


@dataclass(frozen=True)
class Isolation:
    """The walls that hold on this machine, for this user.

    Attributes:
        system: the operating system, as `sys.platform` says it.
        landlock: the version of Landlock, 0 for none.
        seccomp: whether system calls are filtered.
        namespaces: by whose right a worker gets a file system of its own and lives in namespaces
            of the nursery's.
        spaces: the kinds of these namespaces.
        own_uid: whether a worker runs as a user of its own.
        capabilities: whether a worker gives up every right beyond those of an ordinary user.
        threads: whether threads are limited by a count of the worker's own, by one that it shares
            with all processes of the user, or not.
        limits: whether memory, files and file sizes are limited.
    """

    system: str
    landlock: int = 0
    seccomp: bool = False
    namespaces: Rights = "none"
    spaces: tuple[str, ...] = ()
    own_uid: bool = False
    capabilities: bool = False
    threads: Count = "none"
    limits: bool = False

    @property
    def room(self) -> bool:
        """Whether a worker has a file system of its own, and in it the only folder to write to."""
        return self.namespaces != "none"

    @property
    def complete(self) -> bool:
        """Whether no protection is missing."""
        return not self.missing

    @property
    def missing(self) -> tuple[str, ...]:
        """The protections that are lost here, each a sentence."""
        if self.system != "linux":
            return (
                "This system can only put a submission into a process of its own: it can read and "
                "write what you can, use the network, and stop your programs.",
            )
        lost = {
            "A submission can read the solutions, the suites and other submissions.": not (
                self.landlock or self.room
            ),
            "A submission can write and delete files.": not (
                self.room or self.landlock >= _TRUNCATION_SINCE or (self.landlock and self.seccomp)
            ),
            "A submission can change the modes and times of files.": not (
                self.room or self.seccomp or self.own_uid
            ),
            "A submission can use the network.": not self.seccomp,
            "A submission can start other programs and leave processes behind.": not self.seccomp,
            "A submission can stop other programs of this user.": not (
                self.seccomp
                or "pid" in self.spaces
                or self.own_uid
                or self.landlock >= _SIGNALS_SINCE
            ),
            "A submission can see which numbers of processes are in use, and by which user.": not (
                self.room and (self.seccomp or "pid" in self.spaces)
            ),
            "A submission can start any number of threads.": self.threads == "none",
            "A submission can use up the memory.": not self.limits,
        }
        return tuple(sentence for sentence, is_lost in lost.items() if is_lost)

    @property
    def missing_with_gpu(self) -> tuple[str, ...]:
        """The protections that are lost for a worker that uses a GPU."""
        sees = () if "pid" in self.spaces else _SEES_NUMBERS
        return self.missing + _LOST_WITH_GPU + sees

    @property
    def says(self) -> str:
        """The walls in one line, for a report."""
        kinds = "+".join(("user",) * (self.namespaces == "user") + self.spaces)
        parts = (
            f"Landlock {self.landlock}" if self.landlock else "",
            "seccomp" if self.seccomp else "",
            "own user id" if self.own_uid else "",
            f"{kinds} namespaces" if self.room else "",
            "limits" if self.limits else "",
        )
        return ", ".join(filter(None, parts)) or "a process of its own"

    def without(self, layer: str) -> Isolation:
        """Return the same with one of `LAYERS` left out."""
        alone: Count = "shared" if self.namespaces == "user" else self.threads
        nothing: dict[str, dict[str, Any]] = {
            "landlock": {"landlock": 0},
            "seccomp": {"seccomp": False},
            "namespaces": {"namespaces": "none", "spaces": (), "threads": alone},
            "own_uid": {"own_uid": False, "threads": "none"},
            "capabilities": {"capabilities": False},
            "limits": {"limits": False, "threads": "none"},
        }
        return replace(self, **nothing[layer])

    def to_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Isolation:
        """Make one from plain data."""
        return cls(**{**data, "spaces": tuple(data["spaces"])})
