"""A folder of answers that runs in another process, as the suites see it.

What comes from there is values to be compared, and claims. A claim is taken where nothing can be
computed from values: that an input was changed, which ready-made call was seen.
"""

from __future__ import annotations

import contextlib
import json
import types
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from grader import devices, nested
from grader.answers.door import around
from grader.costs import Counting
from grader.dry_run import ELSEWHERE, Crossing
from grader.reading.calls import goes_back_its_own_way
from grader.reading.families import Family
from grader.remote import raised
from grader.remote.channel import WireError
from grader.remote.chapters_there import ChaptersThere, Sources
from grader.remote.claims import Opaque, opaque, vast, words
from grader.remote.function import RemoteFunction
from grader.remote.held import SUBMISSION
from grader.remote.inputs_after import InputsAfter
from grader.remote.lending import Lending, how_lent
from grader.remote.mirror import Mirror, Twin, mirrored
from grader.remote.observed import Observed
from grader.remote.process import Process
from grader.remote.supervisor import Supervisor
from grader.remote.talk import ByHeart, Glance, Message, Talk
from grader.remote.wire import NAMES, Opened, Parcel
from grader.trouble import BrokenFile, Hangs, HangsError


class RemoteWorld(Supervisor):
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
        super().__init__(start, seconds, home, lacks)
        self.earlier = earlier or {}
        self.sources, self.names = sources, names
        self.folder = SUBMISSION
        self.loading: str | None = None
        self._sources = Sources(sources)
        chapters = [sources[f"{stem}.py"] for stem in names if f"{stem}.py" in sources]
        self._own_way_back = goes_back_its_own_way(chapters)
        self._replaced: dict[str, Any] = {}
        self.forget_worker()
        self.begin(0)

    # ---- what the suites and the judge see ----

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
        self._observed = Observed(self.called)
        self.switches_left = self._observed.switches_left
        self._calling = ""
        if self.channel.talk is None:  # else the check goes on, and so does its clock
            self.new_check()
        self._generators: dict[int, torch.Generator] = {}
        self._twins: dict[int, Twin] = {}
        self.lending.forget(keep={**self.earlier, **self._replaced})
        self.forget_graphs()

    @property
    def crossing(self) -> Crossing | None:
        """The way to a pretended machine, while calls are made there."""
        return self._observed.crossing

    @crossing.setter
    def crossing(self, way: Crossing | None) -> None:
        self._observed.crossing = way

    @property
    def counting(self) -> Counting | None:
        """What counts the costs of calls, while these are counted."""
        return self._observed.counting

    @counting.setter
    def counting(self, counts: Counting | None) -> None:
        self._observed.counting = counts

    def begins_to_count(self) -> Counting:
        """Count from now on what calls cost, over there, until `counting` is None."""
        return self._observed.begins_to_count()

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

    def noticing(self, family: Family) -> contextlib.AbstractContextManager[list[str]]:
        """Collect the ready-made calls of a family."""
        return self._observed.noticing(family)

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
        if self.workers_device == "cpu":
            self.close()
            self.begin(self._seed)

    # ---- asking ----

    def opening(self, kind: str, say: dict[str, Any]) -> dict[str, Any]:
        """Say that a check begins, and what is to be replaced in it."""
        if self._beginning is None or kind == "load":
            return say
        say = {**say, "begin": self._beginning}
        self._beginning = None
        return {**say, "stand_ins": self._lent(self._replaced)} if self._replaced else say

    @contextlib.contextmanager
    def watched(self) -> Iterator[None]:
        """See how much more memory the worker holds meanwhile, if that is to be counted."""
        process = self.process if self.counting and self.workers_device == "cpu" else None
        before = process.held() if process is not None else None
        yield
        after = process.held() if process is not None else None
        if self.counting is not None and before is not None and after is not None:
            self.counting.sees(after.most - before.now)

    def exchange(self, kind: str, say: dict[str, Any], parcel: Parcel | None = None) -> Opened:
        """Ask the worker, and take in what it claims of a backward pass."""
        reply = super().exchange(kind, say, parcel)
        if kind == "backward" and "raised" not in reply.header:
            self._listen(reply)
        return reply

    def hand_over(self) -> None:
        """Give a new worker the chapters."""
        for file, source in self.sources.items():
            parcel = self.parcel()
            parcel.tensor(torch.from_numpy(np.frombuffer(bytearray(source), np.uint8)))
            self.tell_first("chapter", {"file": file}, parcel)
        if self.earlier:
            self.tell_first("lend", {"lent": self._lent(self.earlier)})

    def forget_worker(self) -> None:
        """Forget what was known of a worker that is gone."""
        self._there = ChaptersThere()
        self.lending = Lending(self)

    # ---- by heart ----

    def talk_about(self, about: str, stem: str) -> Talk:
        """Begin to remember what is said in a check of a chapter that has been loaded."""
        there = self._there
        if stem not in there.about:
            found = sorted(there.found[stem].items())
            known = [stem, found, there.stubs[stem], self.workers_device, self._own_way_back]
            known.append(sorted(self.earlier))
            there.about[stem] = json.dumps(known)
        self.new_check()
        talk = self.channel.talk = Talk(f"{there.about[stem]} {about}".encode())
        return talk

    def recite(self, talk: Talk, memory: ByHeart) -> Any | None:
        """Lead a check by heart; return what came of it, or None if something new was said.

        The check is to be run then: it hears what was heard by heart, and goes on from there.
        """
        channel, patience = self.channel, self.patience
        while True:
            step = memory.after(talk.heard)
            if isinstance(step, Message):
                with self.workers_turn():
                    channel.put_now(step, patience.deadline(), patience.ms())
                    talk.took(step, channel.take_now(patience.deadline()))
            elif isinstance(step, Glance):
                talk.took(step, self._sources.glance(step))
            else:
                return step and step.outcome

    # ---- calls ----

    def besides(self, token: int, parcel: Parcel) -> dict[str, Any]:  # noqa: ARG002
        """Say what to notice on the way back."""
        return self._observed.asks()

    def call(
        self,
        where: dict[str, Any],
        args: Any,
        kwargs: Any,
        times: int = 1,
        again: str = "",
        before: Sequence[Any] = (),
    ) -> Any:
        """Call something over there, and return what came out.

        Args:
            where: says what: an exercise, a part of a module with its twin, or an object's method.
            args: for it.
            kwargs: for it.
            times: how often to call it, in one go.
            again: "same" or "equal" to call it twice, with the same or with equal inputs.
            before: what to call it with first; the tensors of these are then filled anew.
        """
        parcel, given = self.parcel(strided=True), (*args, *kwargs.values())
        say = {key: value for key, value in where.items() if key != "twin"}
        say["args"] = [parcel.pack(value) for value in args]
        say["kwargs"] = {name: parcel.pack(value) for name, value in kwargs.items()}
        leaves = [one for one in parcel.sent if one.requires_grad]
        own: Twin | None = where.get("twin")
        if own is not None:
            say["own"] = own.state(parcel)
        mirrors = [one.kit_twin for one in nested.flat(*given) if isinstance(one, Mirror)]
        twins = mirrors if own is None else [own, *mirrors]
        leaves += [weight for one in twins for weight in one.weights() if weight.requires_grad]
        leaves = list({id(one): one for one in leaves}.values())
        self._calling = where["name"] if own is None else own.exercise
        say["switches"] = [torch.is_grad_enabled(), NAMES[torch.get_default_dtype()]]
        say |= {"times": times} if times != 1 else {}
        say |= {"again": again} if again else {}
        say |= {"before": [parcel.pack(value) for value in before]} if before else {}
        say |= self._observed.asks()
        if self._observed.family and "stem" in where:
            found = self._in_source(where["stem"], where["name"], self._observed.family)
            self._observed.sees(found)
        watched = [[one.number, path] for one in twins for path in one.watched]
        say |= {"watch": watched} if watched else {}
        self._inputs.hand(parcel)
        reply = self.exchange("call", say, parcel)
        if "raised" in reply.header:
            with self.makes_sense():
                self._inputs.hear(reply, parcel, given)
            raise self.rebuilt(reply.header["raised"])
        home = self._home_of_results(given, tensors=bool(parcel.sent or twins))
        return self._came(reply, parcel, leaves, given, home)

    def _home_of_results(self, given: Sequence[Any], *, tensors: bool) -> str:
        """Return on which device a call's results have to be."""
        if self.crossing is not None:
            return ELSEWHERE
        if not tensors and all(map(_says_no_device, nested.flat(*given))):
            return devices.CPU  # where torch makes what nobody wants elsewhere
        return self.workers_device

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
        with self.makes_sense():
            self.lending.budget.hears(reply)
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
        self._observed.hears(header, self._calling)
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
                raise WireError("a module's state is malformed")
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
        self.require("generator")
        number = len(self._generators) + 1
        self._generators[number] = value
        return [number, parcel.tensor(value.get_state())]

    def opened(self, key: str, inner: Any, message: Opened) -> Any:
        """Turn what the worker says into a value."""
        if key == "m" and type(inner) is list and len(inner) == 2 and type(inner[0]) is int:
            if inner[0] not in self._twins:
                self._twins[inner[0]] = mirrored(self, inner[0], inner[1], message)
                self.lending.budget.weighs(self._twins[inner[0]].root)
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
        with self.patience.turn(workers=False), self.lending.budget.at_work():
            super().serve(message)

    def answer(self, kind: str, message: Opened) -> tuple[dict[str, Any], Parcel | None]:
        """Work out what has been lent; nothing else is done for a worker."""
        self.lending.budget.asked(kind, message)
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
        with self.makes_sense():
            return reply.unpack(reply.header["value"]), reply.header.get("method") is True

    def _where(self, made: Any) -> dict[str, Any] | None:
        """Say which object of the other process is meant; None if it is none of there."""
        if isinstance(made, Mirror):
            return {"twin": made.kit_twin, "module": made.kit_twin.number, "path": made.kit_path}
        if isinstance(made, Opaque):
            return {"object": made.kit_number, "name": made.kit_exercise}
        return None

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


def _says_no_device(value: Any) -> bool:
    """Tell whether an argument leaves it to torch's default on which device something is made."""
    plain = value is None or isinstance(value, bool | int | float | str)
    return plain and not (isinstance(value, str) and devices.is_name(value))
