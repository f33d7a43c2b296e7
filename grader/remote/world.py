"""A folder of answers that runs in another process, as the suites see it.

What comes from there is values to be compared, and claims. A claim is taken where nothing can be
computed from values: that an input was changed, which ready-made call was seen.
"""

from __future__ import annotations

import contextlib
import json
import socket
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader import devices, nested
from grader.answers.door import around
from grader.answers.switches import OF_CALLS
from grader.costs import Counting
from grader.dry_run import ELSEWHERE, Crossing, heard
from grader.reading.calls import goes_back_its_own_way
from grader.reading.families import Family
from grader.remote import raised
from grader.remote.channel import Channel, WireError
from grader.remote.chapters_there import ChaptersThere, Sources
from grader.remote.claims import Opaque, opaque, vast, words
from grader.remote.end import End
from grader.remote.function import RemoteFunction
from grader.remote.held import SUBMISSION
from grader.remote.inputs_after import InputsAfter
from grader.remote.lending import Lending, how_lent
from grader.remote.mirror import Mirror, Twin, mirrored
from grader.remote.patience import Patience
from grader.remote.process import Ending, Process
from grader.remote.talk import ByHeart, Glance, Message, Talk
from grader.remote.wire import NAMES, Opened, Parcel, TooLarge
from grader.trouble import BrokenFile, Hangs, HangsError, Lost, printable

# more ready-made calls than anybody reads of
MOST_SEEN = 100
# stands for the pipe until there is one
_NOWHERE = Channel(socket.socket(socket.AF_INET, socket.SOCK_STREAM))
# seconds of work that a worker may need to begin on a GPU
CONTEXT_LIMIT = 120.0
LONGEST_REASON = 200


class BrokenDevice(Exception):
    """A worker's device does nothing more."""


class RemoteWorld(End):
    """Answers in another process.

    Args:
        start: starts a process for the folder.
        sources: the answer's chapters, by the names of their files.
        names: every chapter's stem with the names of its exercises.
        seconds: how long the answer may take in one check.
        home: the device that the other process works on.
        lacks: what that device cannot do; a check that needs it is not run.
        earlier: what stands for exercises of earlier chapters, whatever the answer has there.
    """

    def __init__(
        self,
        start: Callable[[], Process],
        sources: Mapping[str, bytes],
        names: Mapping[str, Sequence[str]],
        seconds: float = 10.0,
        home: str = "cpu",
        earlier: Mapping[str, Any] | None = None,
        lacks: Collection[str] = (),
    ) -> None:
        self.lacks = lacks
        self.earlier = earlier or {}
        self._start, self.sources, self.names = start, sources, names
        self.patience = Patience(seconds)
        self.folder = SUBMISSION
        self.place = home
        self.process: Process | None = None
        self.loading: str | None = None
        self.warnings: list[str] = []
        self._sources = Sources(sources)
        self._own_way_back = goes_back_its_own_way(sources.values())
        super().__init__(_NOWHERE, trusted=False)
        self._replaced: dict[str, Any] = {}
        self._fresh()
        self.begin(0)

    # ---- what the suites and the judge see ----

    @property
    def loaded(self) -> Sequence[str]:
        """The chapters that have been imported."""
        return self._there.loaded

    def active(self) -> contextlib.AbstractContextManager[None]:
        """Do nothing: the other process always finds its chapters."""
        return contextlib.nullcontext()

    def begin(self, seed: int) -> None:
        """Begin a check, with the other side's generators at `seed` and a full clock."""
        self._beginning: int | None = seed
        self._seed = seed
        self.number = 0
        self._inputs = InputsAfter()
        self.became = self._inputs.became
        self.switches_left: list[tuple[str, str]] = []
        self._calling = ""
        if self.channel.talk is None:  # else the check goes on, and so does its clock
            self._new_check()
        self._notice: Family | None = None
        self._way: Crossing | None = None
        self._crossed = 0
        self.counting: Counting | None = None
        self._counts: Counting | None = None
        self._counted = 0
        self._seen: list[str] = []
        self._generators: dict[int, torch.Generator] = {}
        self._twins: dict[int, Twin] = {}
        self.lending.forget(keep={**self.earlier, **self._replaced})
        self.forget_graphs()

    @property
    def crossing(self) -> Crossing | None:
        """The way to a pretended machine, while calls are made there."""
        return self._way

    @crossing.setter
    def crossing(self, way: Crossing | None) -> None:
        self._way = way
        self._crossed += way is not None

    def begins_to_count(self) -> Counting:
        """Count from now on what calls cost, over there, until `counting` is None."""
        self._counted += 1
        self.counting = self._counts = Counting(self.called, here=False, after=self._counts)
        return self.counting

    def load(self, stem: str) -> None:
        """Import a chapter, with those that it imports."""
        self._names_in(stem)

    def function(self, stem: str, name: str) -> Callable[..., Any]:
        """Return an exercise, ready to be called.

        Raises:
            BrokenFile: its file, or one that it imports, does not run.
            Missing: the file has no such function.
        """
        self.asked += 1  # also if there is no such function: that is of this answer too
        self._sources.must_be_callable(stem, name, self._names_in(stem).get(name))
        return RemoteFunction(self, {"stem": stem, "name": name})

    def method(self, made: Any, name: str) -> Callable[..., Any]:
        """Return a method of an object that an exercise has made, ready to be called."""
        where = self._where(made)
        if where is None:
            return around(getattr(made, name), self)
        return RemoteFunction(self, {**where, "method": name})

    def attribute(self, made: Any, name: str) -> Any:
        """Return an attribute of an object that an exercise has made."""
        if not isinstance(made, Opaque):
            return getattr(made, name)
        return self._attribute(made, name)[0]

    @contextlib.contextmanager
    def noticing(self, family: Family) -> Iterator[list[str]]:
        """Collect the ready-made calls of a family."""
        self._notice, self._seen = family, []
        try:
            yield self._seen
        finally:
            self._notice = None

    def goes_back_its_own_way(self) -> bool:
        """Tell whether code of the answer may have a part in a backward pass, by its source."""
        return self._own_way_back

    def within(self, seconds: float) -> contextlib.AbstractContextManager[None]:
        """Take the other process for lost if all that is asked inside takes longer."""
        return self.patience.within(seconds)

    def runs_here(self, module: nn.Module) -> bool:
        """Tell whether a call of a module runs it in this process."""
        return not isinstance(module, Mirror)

    @contextlib.contextmanager
    def replaced(self, stand_ins: Mapping[str, Any]) -> Iterator[None]:
        """Put other objects in the place of exercises, for as long as this lasts."""
        before, self._replaced = self._replaced, dict(stand_ins)
        try:
            yield
        finally:
            self._replaced = before

    def seed(self, seed: int) -> None:
        """Seed the other side's generators."""
        self.ask("seed", {"seed": seed})

    def random_states(self) -> list[Tensor]:
        """Return the states of the other side's generators."""
        reply = self.ask("random_states", {})
        states = reply.unpack(reply.header.get("value"))
        if type(states) is not list or not all(isinstance(one, Tensor) for one in states):
            raise self.nonsense("its generators have no states")
        return states

    def is_stub(self, full: str) -> bool:
        """Tell whether an exercise holds nothing yet."""
        stem, name = full.split(".")
        self._names_in(stem)
        return name in self._there.stubs[stem]

    def uses(self, full: str) -> Sequence[str]:
        """List the exercises that an exercise names, as the worker claims it."""
        stem = full.split(".", maxsplit=1)[0]
        self._names_in(stem)
        return self._there.uses[stem].get(full, ())

    def owner(self, code: types.CodeType) -> str | None:  # noqa: ARG002
        """Return nothing: no code of the answer is on this side."""
        return None

    def called(self, file: str) -> str:  # noqa: ARG002
        """Return nothing: no file of the answer is on this side."""
        return ""

    def renew(self) -> None:
        """Go on with another process, which has held no memory yet; on a GPU none tells anything.

        What answers make lies in the device's memory there, and a context takes seconds.
        """
        if self.place != "cpu":
            return
        self.close()
        self.begin(self._seed)

    def close(self) -> None:
        """End the other process and all that it has started."""
        if self.process is not None:
            self.process.end()
        self.process = None
        self._fresh()

    # ---- asking ----

    def exchange(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask the worker; one that is not there is started, one that is lost is said so."""
        if self.lacks:
            for name in (say.get("dtype"), *(meta[0] for meta in (parcel.metas if parcel else ()))):
                self._require(name)
        if self.process is None:
            self.process = self._start()
            self.channel = self.process.channel
            self.channel.more = self.patience.more
            self.patience.started(self.process)
            # on a GPU it makes its context now, which takes as long as it takes
            seconds = self.patience.seconds if self.place == "cpu" else CONTEXT_LIMIT
            with self.patience.apart(seconds), self._asking():
                self._hand_over()
        if self._beginning is not None and kind != "load":
            say = {**say, "begin": self._beginning}
            if self._replaced:
                say["stand_ins"] = self._lent(self._replaced)
            self._beginning = None
        # an import has a clock of its own: the check that happens to need it may be nearly over
        apart = self.patience.apart() if kind == "load" else contextlib.nullcontext()
        with apart, self._asking(), self._watched():
            reply = super().exchange(kind, say, parcel)
        if self.place != "cpu":
            self._refuse_broken(reply.header.get("raised"))
        if kind == "backward" and "raised" not in reply.header:
            self._listen(reply)
        return reply

    def _refuse_broken(self, raised: Any) -> None:
        """Let go of a worker whose device does nothing more, or every later check would fail.

        Raises:
            Lost: it is such a one.
        """
        why = raised.get("device") if type(raised) is dict else None
        if type(why) is str and why:
            raise self._gone(BrokenDevice(printable(why)[:LONGEST_REASON]))

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """See how much more memory the worker holds meanwhile, if that is to be counted."""
        process = self.process if self.counting is not None and self.place == "cpu" else None
        before = process.held() if process is not None else None
        yield
        after = process.held() if process is not None else None
        if self.counting is not None and before is not None and after is not None:
            self.counting.sees(after.most - before.now)

    def _hand_over(self) -> None:
        """Give a new worker the chapters."""
        for file, source in self.sources.items():
            parcel = self.parcel()
            parcel.tensor(torch.from_numpy(np.frombuffer(bytearray(source), np.uint8)))
            super().exchange("chapter", {"file": file}, parcel)
        if self.earlier:
            super().exchange("lend", {"lent": self._lent(self.earlier)})

    def clock(self) -> int:
        """Return how long the worker may take."""
        return self.patience.ms()

    # ---- by heart ----

    def talk_about(self, about: str, stem: str) -> Talk:
        """Begin to remember what is said in a check of a chapter that has been loaded."""
        there = self._there
        if stem not in there.about:
            found = sorted(there.found[stem].items())
            known = [stem, found, there.stubs[stem], self.place, self._own_way_back]
            known.append(sorted(self.earlier))
            there.about[stem] = json.dumps(known)
        self._new_check()
        talk = self.channel.talk = Talk(f"{there.about[stem]} {about}".encode())
        return talk

    def end_talk(self) -> None:
        """Remember nothing more."""
        self.channel.talk = None

    def recite(self, talk: Talk, memory: ByHeart) -> Any | None:
        """Lead a check by heart; return what came of it, or None if something new was said.

        The check is to be run then: it hears what was heard by heart, and goes on from there.
        """
        channel, patience = self.channel, self.patience
        while True:
            step = memory.after(talk.heard)
            if isinstance(step, Message):
                with self._asking():
                    channel.put_now(step, patience.deadline(), patience.ms())
                    talk.took(step, channel.take_now(patience.deadline()))
            elif isinstance(step, Glance):
                talk.took(step, self._sources.glance(step))
            else:
                return step and step.outcome

    def besides(self, token: int, parcel: Parcel) -> dict[str, Any]:  # noqa: ARG002
        """Say whether to go backward on the pretended machine, and what to notice."""
        return {**({"notice": self._notice} if self._notice else {}), **self._crosses()}

    def _crosses(self) -> dict[str, Any]:
        """Say whether to count it, or to do it on the pretended machine, lines forgiven there."""
        if self.counting is not None:
            return {"counts": self._counted}
        if self.crossing is None:
            return {}
        forgiven = sorted(self.crossing.trip.forgiven)
        return {"crosses": self._crossed, **({"forgiven": forgiven} if forgiven else {})}

    def deadline(self) -> float:
        """Return until when a reply must have come."""
        return self.patience.deadline()

    def call(
        self, where: dict[str, Any], args: Any, kwargs: Any, times: int = 1, again: str = ""
    ) -> Any:
        """Call something over there, and return what came out."""
        parcel = self.parcel(strided=True)
        twins = [where.get("twin"), *nested.flat(*args, *kwargs.values())]
        say = {key: value for key, value in where.items() if key != "twin"}
        say["args"] = [parcel.pack(value) for value in args]
        say["kwargs"] = {name: parcel.pack(value) for name, value in kwargs.items()}
        leaves = [one for one in parcel.sent if one.requires_grad]
        if "twin" in where:
            say["own"] = where["twin"].state(parcel)
        modules = [v for v in twins if isinstance(v, Twin | Mirror)]
        mirrors = [v if isinstance(v, Twin) else v.kit_twin for v in modules]
        for twin in mirrors:
            leaves += [w for w in twin.weights() if w.requires_grad]
        leaves = list({id(one): one for one in leaves}.values())
        self._calling = where["twin"].exercise if "twin" in where else where["name"]
        say["switches"] = [torch.is_grad_enabled(), NAMES[torch.get_default_dtype()]]
        if times != 1:
            say["times"] = times
        if again:
            say["again"] = again
        if self._notice:
            say["notice"] = self._notice
            if "stem" in where:
                self._seen += self._in_source(where["stem"], where["name"], self._notice)
        say |= self._crosses()
        watched = [[t.number, path] for t in mirrors for path in t.watched]
        if watched:
            say["watch"] = watched
        given = [*args, *kwargs.values()]
        self._inputs.hand(parcel)
        reply = self.exchange("call", say, parcel)
        if "raised" in reply.header:
            with self._sense():
                self._inputs.hear(reply, parcel, given)
            raise self.rebuilt(reply.header["raised"])
        home = self.place if self.crossing is None else ELSEWHERE
        no_tensor = not parcel.sent and not modules and self.crossing is None
        if no_tensor and all(map(_says_no_device, nested.flat(*given))):
            home = devices.CPU  # where torch makes what nobody wants elsewhere
        return self._came(reply, parcel, leaves, given, home)

    def _in_source(self, stem: str, name: str, family: Family) -> list[str]:
        """Return the ready-made calls that stand in an exercise's source, whether made or not."""
        glance, talk = Glance(stem, name, family), self.channel.talk
        known = talk.took_already(glance) if talk else None
        if isinstance(known, list):
            return known
        found = self._sources.glance(glance)
        if talk:
            talk.hears(found)
        return found

    def _came(
        self,
        reply: Opened,
        parcel: Parcel,
        leaves: list[Tensor],
        given: Sequence[Any],
        home: str,
    ) -> Any:
        with self._sense():
            self.lending.hears(reply)
            self._listen(reply)
            self._join(reply, leaves)
            for value, meta in zip(reply.tensors, reply.metas, strict=True):
                if home != "cpu" or meta[4]:
                    value.kit_place = (meta[4] or home, home)  # type: ignore[attr-defined]
            self._inputs.hear(reply, parcel, given)
            self._take_changes(reply)
            return reply.unpack(reply.header.get("value"))

    def _join(self, reply: Opened, leaves: list[Tensor]) -> None:
        """Put what wants gradients where it has them from: the other side of the graph."""
        wanting = [at for at, meta in enumerate(reply.metas) if meta[3]]
        token = reply.header.get("token")
        if wanting and type(token) is int:
            values = [reply.tensors[at] for at in wanting]
            if not all(value.is_floating_point() or value.is_complex() for value in values):
                raise WireError("what is not a float cannot want gradients")
            if torch.is_grad_enabled():
                joined = self.across(token, values, leaves)
                for at, value in zip(wanting, joined, strict=True):
                    reply.tensors[at] = value

    @contextlib.contextmanager
    def _sense(self) -> Iterator[None]:
        try:
            yield
        except WireError as problem:
            raise self._gone(problem) from None

    def next(self) -> Opened:
        """Wait for a message; one that tells of an error still tells what was seen."""
        message = super().next()
        self._inputs.see(message)
        if "raised" in message.header and "ask" not in message.header:
            self._listen(message)
        return message

    def _listen(self, message: Opened) -> None:
        """Take in what the worker claims of a call besides its result."""
        header = message.header
        for name in {one.name for one in OF_CALLS}.intersection(words(header.get("switched"))):
            if (self._calling, name) not in self.switches_left:
                self.switches_left.append((self._calling, name))
        self._seen += words(header.get("seen"))[: max(0, MOST_SEEN - len(self._seen))]
        if self.counting is not None:
            self.counting.hears(header.get("costs"))
        if self.crossing is not None:
            for mistake in heard(header.get("mistakes")):
                self.crossing.trip.add(mistake)
        self.warnings += words(header.get("warnings"))[: max(0, 100 - len(self.warnings))]
        handed = header.get("handed")
        if type(handed) is list and len(handed) == 3 and type(handed[0]) is int:
            given = message.unpack(handed[2])
            if handed[0] in self._twins and type(given) is tuple and len(given) == 2:
                self._twins[handed[0]].was_handed(handed[1], *given)

    def _take_changes(self, reply: Opened) -> None:
        """Take over what has become of modules."""
        self.lending.take_noted(reply.header.get("noted"), reply)
        modules = reply.header.get("modules")
        for one in modules if type(modules) is list else []:
            if type(one) is not list or len(one) != 5:
                raise WireError("a module's state is none")
            kind, number, weights, training, extras = one
            if kind == "lent":
                self.lending.take(number, weights, training, extras, reply)
            elif type(number) is int and number in self._twins:
                self._twins[number].take(weights, training, reply, words(extras))

    # ---- values ----

    def special(self, value: Any, parcel: Parcel) -> Any:
        """Turn what a suite hands over into JSON."""
        if isinstance(value, Mirror):
            return {"m": {"number": value.kit_twin.number, **value.kit_twin.state(parcel)}}
        if isinstance(value, nn.Module):
            return {"b": self.lending.lend(value, parcel)}
        if isinstance(value, torch.Generator):
            return {"g": self._generator(value, parcel)}
        if isinstance(value, Opaque):
            return {"e": value.kit_number}
        raise TypeError(f"a suite cannot hand over a {type(value).__name__}")

    def _generator(self, value: torch.Generator, parcel: Parcel) -> list[Any]:
        known = next((n for n, one in self._generators.items() if one is value), None)
        if known is not None:
            return [known, None]
        self._require("generator")
        number = len(self._generators) + 1
        self._generators[number] = value
        return [number, parcel.tensor(value.get_state())]

    def _require(self, what: Any) -> None:
        """Leave the check where the other process's device does not have what it needs.

        Raises:
            NotHere: so it is.
        """
        if what in self.lacks:
            raise devices.NotHere(what, self.place)

    def opened(self, key: str, inner: Any, message: Opened) -> Any:
        """Turn what the worker says into a value."""
        if key == "m" and type(inner) is list and len(inner) == 2 and type(inner[0]) is int:
            if inner[0] not in self._twins:
                self._twins[inner[0]] = mirrored(self, inner[0], inner[1], message)
                self._twins[inner[0]].exercise = self._calling
            return self._twins[inner[0]].root
        if key == "b":
            return self.lending.thing(inner)
        if key == "z" and type(inner) is list and len(inner) == 2:
            return vast(*inner)
        if key == "o" and type(inner) is list and len(inner) in (2, 3):
            made = opaque(*inner[:2])
            if len(inner) == 3 and type(inner[2]) is int:
                made.kit_number, made.kit_exercise = inner[2], self._calling
                made.kit_reached = self._reached
            return made
        if key == "c" and type(inner) is str and (devices.is_name(inner) or inner[:4] == "meta"):
            with contextlib.suppress(RuntimeError):
                return torch.device(inner)
        raise WireError("a value of no known kind")

    def serve(self, message: Opened) -> None:
        """Do what the worker asks for; the time that takes is not the worker's."""
        with self.patience.turn(workers=False), self.lending.at_work():
            super().serve(message)

    def answer(self, kind: str, message: Opened) -> tuple[dict[str, Any], Parcel | None]:
        """Work out what has been lent; nothing else is done for a worker."""
        self.lending.count(kind, message)
        if kind == "backward":
            self.lending.stands(message)
            return self.pull(message)
        return self.lending.serve(kind, message)

    def raised(self, error: BaseException) -> dict[str, Any]:
        """Describe an error of something lent."""
        names = [one.__name__ for one in type(error).__mro__[:-1]]
        return {"types": names, "text": str(error)[:1000], "frames": [], "owner": None}

    def rebuilt(self, said: Any) -> BaseException:
        """Make the error that the answer has raised."""
        error = raised.rebuilt(said, self.folder)
        known = {f"{stem}.{name}" for stem, names in self.names.items() for name in names}
        if isinstance(error, HangsError) and str(error) not in known:
            return self.nonsense("it waits for an exercise that there is not")
        if getattr(error, "kit_owner", None) not in known:
            error.kit_owner = None  # type: ignore[attr-defined]
        return error

    # ---- how it is done ----

    def _reached(self, made: Opaque, name: str) -> Any:
        """Return an attribute of an object of the other process; a method is ready to be called."""
        value, is_method = self._attribute(made, name)
        if not is_method:
            return value
        asks = self.method(made, name)
        return lambda *args, **kwargs: self._put_there(asks(*args, **kwargs))

    def _put_there(self, value: Any) -> Any:
        """Put what came from the other process on the pretended machine, if its asker is there."""
        return value if self.crossing is None else self.crossing.there(value, ELSEWHERE)

    def _attribute(self, made: Opaque, name: str) -> tuple[Any, bool]:
        reply = self.ask("attribute", {"object": made.kit_number, "name": name})
        if "value" not in reply.header:
            raise AttributeError(f"'{type(made).__name__}' object has no attribute '{name}'")
        with self._sense():
            return reply.unpack(reply.header["value"]), reply.header.get("method") is True

    def _where(self, made: Any) -> dict[str, Any] | None:
        """Say which object of the other process is meant; None if it is none of there."""
        if isinstance(made, Mirror):
            return {"twin": made.kit_twin, "module": made.kit_twin.number, "path": made.kit_path}
        if isinstance(made, Opaque):
            return {"object": made.kit_number, "name": made.kit_exercise}
        return None

    @contextlib.contextmanager
    def _asking(self) -> Iterator[None]:
        """Let it be the worker's turn, and say how it was lost if it is."""
        try:
            with self.patience.turn(workers=True):
                yield
        except TooLarge:
            raise self.nonsense("it was asked more than a message can hold") from None
        except (OSError, EOFError, WireError) as problem:
            raise self._gone(problem) from None

    def _new_check(self) -> None:
        self.patience.begin()
        if self.channel.inputs is not None:
            self.channel.inputs.forget()

    def _fresh(self) -> None:
        self._there = ChaptersThere()
        self.lending = Lending(self)

    def _names_in(self, stem: str) -> dict[str, str]:
        """Return what stands under the names of a chapter's exercises; it is imported for that."""
        there = self._there
        if stem in there.broken:
            raise there.broken[stem]
        if stem not in there.found:
            self.loading = stem
            try:
                header = self.ask("load", {"stem": stem}).header
            except BrokenFile as problem:
                there.broken[stem] = problem
                self.loading = None
                raise
            self.loading = None
            there.take(stem, header)
        return there.found[stem]

    def _lent(self, stand_ins: Mapping[str, Any]) -> list[list[Any]]:
        said: list[list[Any]] = []
        for full, made in stand_ins.items():
            if isinstance(made, Hangs):
                said.append([full, "hangs", 0, full])
            else:
                name = full.rpartition(".")[2]
                said.append([full, how_lent(made), self.lending.number_of(made), name])
        return said

    def _gone(self, problem: BaseException) -> Lost:
        """Say how the worker was lost, and let go of it."""
        process, self.process = self.process, None
        self.end_talk()
        self.patience.lost()
        self._fresh()
        if isinstance(problem, TimeoutError):
            verdict, says = "timeout", "did not come back in time and was ended"
        elif isinstance(problem, WireError):
            verdict, says = "error", f"sent something that is no answer: {problem}"
        elif isinstance(problem, BrokenDevice):
            place = devices.kind(self.place)
            verdict, says = "crashed", f"left {place} broken and was ended: {problem}"
        else:
            verdict, says = "crashed", ""
        end = process.end(expected=bool(says)) if process is not None else Ending()
        return Lost("killed" if end.from_outside else verdict, says or end.says)

    def upset(self, problem: Exception) -> Lost:
        """Let go of a worker whose answers the judge cannot deal with."""
        return self.nonsense(f"{type(problem).__name__} at what came")

    def nonsense(self, says: str) -> Lost:
        """Let go of a worker that has said what no answer is."""
        return self._gone(WireError(says))


def _says_no_device(value: Any) -> bool:
    """Tell whether an argument leaves it to torch's default on which device something is made."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return plain and not (isinstance(value, str) and devices.is_name(value))
