"""`grader check`: every stub not started, every solution right, every slip rejected and named."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path

import torch

from grader import devices, places
from grader.author_errors import defined_at
from grader.chapters import Catalogue, Exercise, World, catalogue
from grader.judging.evidence import Evidence, alike
from grader.judging.judge import Judge
from grader.judging.misfits import demands_refusal
from grader.judging.outcome import Outcome
from grader.judging.recognise import SlipMemory
from grader.judging.run import Setting, run
from grader.proof.agreement import agreement, examples, imported
from grader.proof.devices.agree import dry_runs_agree
from grader.proof.devices.caught import mistakes_caught, right_programs_let_through
from grader.proof.failure import failure
from grader.proof.figure import Figure, added_up
from grader.proof.judged import TITLE, folder_when_judged, same_when_judged
from grader.proof.promises import promises_kept
from grader.proof.read_on import places_are_there
from grader.proof.spoils import spoils_for
from grader.proof.strangers import strangers_told
from grader.proof.stubs import stubs_put_back

# `grade` takes a new seed each time: so many others are tried on the solutions and the slips
OTHER_SEEDS = 5
# what Python says of a function that does not take what it is called with
OTHER_PARAMETERS = re.compile(r"\(\) (takes|missing) .*argument|\(\) got an unexpected keyword")
# of so many slips or spoils, and of so many variants, one is also judged from another process:
# which, hangs on the seed
JUDGED, JUDGED_VARIANTS = 5, 3
MISTAKES_AND_RIGHT = {"mistakes": mistakes_caught, "right": right_programs_let_through}

Futures = list[Future[list[Figure]]]


def prove(seed: int = 0, device: str = "cpu", names: Sequence[str] = (), jobs: int = 2) -> int:
    """Print the figures; the exit status is 0 only if all of them are full.

    Args:
        seed: of the inputs.
        device: where the checks run.
        names: chapters or functions, or lists of them: only what is proved of these by themselves.
        jobs: so many exercises at a time.
    """
    begin()
    known = catalogue()
    setting = Setting(devices.indexed(device), seed)
    proved, began = True, time.monotonic()
    chosen = known.listed(names)
    made = _of_some(known, chosen, setting, jobs) if chosen else _figures(known, setting, jobs)
    for figure in made:
        print("\n".join(figure.lines()), flush=True)
        proved &= figure.proved
    took = time.monotonic() - began
    print(f"{'proved' if proved else 'NOT proved'} in {took:.0f} s (seed {seed}, {device})")
    return 0 if proved else 1


def begin() -> None:
    """Make a process ready to prove in: one thread, and nothing said of odd answers."""
    gc.freeze()  # what is imported is not to be gone through again and again
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")  # some answers are odd on purpose


def _of_some(
    known: Catalogue, exercises: list[Exercise], setting: Setting, jobs: int
) -> Iterator[Figure]:
    theirs = {exercise.stem for exercise in exercises}
    chapters = Catalogue(tuple(one for one in known.chapters if one.stem in theirs))
    # what follows takes longer, and would fail for what is wrong here
    if not (yield from _proved(_as_written(chapters, known, setting))):
        return
    if not (yield from _proved(_run_once(exercises, setting))):
        return
    with _pool(jobs) as pool:
        yield from _total(_each_exercise(pool, exercises, setting))


def _proved(figures: Iterable[Figure]) -> Generator[Figure, None, bool]:
    """Hand on figures as they come; return whether all of them are full."""
    proved = True
    for figure in figures:
        proved &= figure.proved
        yield figure
    return proved


def _as_written(chapters: Catalogue, known: Catalogue, setting: Setting) -> Iterator[Figure]:
    yield agreement(chapters)
    yield stubs_put_back(chapters)
    yield places_are_there(chapters)
    yield examples(chapters, known)
    yield from promises_kept(chapters, setting, known)


def _run_once(exercises: list[Exercise], setting: Setting) -> Iterator[Figure]:
    yield stubs_not_started(exercises, setting)
    yield solutions_pass(exercises, setting)


def _figures(known: Catalogue, setting: Setting, jobs: int) -> Iterator[Figure]:
    every = list(known.exercises())
    yield from _as_written(known, known, setting)
    # all that follows would fail for what is wrong here
    if not (yield from _proved(_run_once(every, setting))):
        return
    dry = Setting("cpu", setting.seed)
    with _pool(jobs) as pool:  # one for all of it, so that no core is left waiting
        variants = _each_variant(pool, setting)
        strangers = _each(pool, strangers_of, [exercise.full for exercise in every], setting)
        on_devices = _each(pool, of_devices, MISTAKES_AND_RIGHT, dry)
        exercises = _each_exercise(pool, every, setting)
        accepted, judged = _total(variants)
        yield accepted
        yield from _total(strangers)
        yield from _total(on_devices)
        if setting.device != "cpu":
            yield dry_runs_agree(known, dry, setting)
        *figures, last = _total(exercises)
    yield from figures
    last.add(judged)
    yield last


def stubs_not_started(exercises: list[Exercise], setting: Setting) -> Figure:
    """Every check says of its stub that it is not started."""
    figure = Figure("checks that call a stub not started")
    world = World(places.EXERCISES, catalogue().names())
    for stem in dict.fromkeys(exercise.stem for exercise in exercises):
        imported(world, stem)
    for exercise in exercises:
        figure.count(world.is_stub(exercise.full), f"{exercise.full} is not told as a stub")
        for check in exercise.checks:
            # run, not judged: the judge knows a stub by its code and would not call it
            outcome = run(check, world, setting)[0]
            # or it calls another stub of its chapter first, such as what it is handed
            other = outcome.stuck_at
            told = outcome.verdict == "not started" or (other is not None and world.is_stub(other))
            said = f"{check.stem} {check.name}: {outcome.verdict}"
            figure.count(told, failure(check, outcome, setting.seed) if outcome.fault else said)
    return figure


def solutions_pass(exercises: list[Exercise], setting: Setting) -> Figure:
    """Every check passes on the solutions."""
    figure = Figure("checks that pass on the solutions")
    known = catalogue()
    judge = Judge(known, World(places.SOLUTIONS, known.names()), setting)
    for exercise in exercises:
        for check in exercise.checks:
            outcome = judge.judge(check)
            figure.count(_holds(outcome), failure(check, outcome))
    return figure


def _holds(outcome: Outcome) -> bool:
    # what the device does not have is no part of the total there
    return outcome.passed or outcome.verdict == "not run"


def variant_passes(folder: Path, exercise: Exercise, setting: Setting) -> Figure:
    """The checks of an exercise pass on a variant."""
    figure, known = Figure("checks that pass on the variants"), catalogue()
    judge = Judge(known, World(folder, known.names()), setting)
    for check in exercise.checks:
        outcome = judge.judge(check)
        figure.count(_holds(outcome), f"{folder.name}: {failure(check, outcome)}")
    return figure


def solution_passes_with_other_seeds(exercise: Exercise, setting: Setting) -> Figure:
    """The checks of an exercise pass on its solution whichever numbers are drawn."""
    figure = Figure("solutions pass with other seeds")
    known = catalogue()
    for seed in range(setting.seed + 1, setting.seed + 1 + OTHER_SEEDS):
        judge = Judge(known, World(places.SOLUTIONS, known.names()), replace(setting, seed=seed))
        for check in exercise.checks:
            outcome = judge.judge(check)
            figure.count(outcome.passed, failure(check, outcome, seed))
    return figure


def variant_accepted(folder: str, setting: Setting) -> list[Figure]:
    """A right but different answer, whole, passes everything: runs in a process of its own."""
    begin()
    figure, known, path = Figure("variants accepted"), catalogue(), places.VARIANTS / folder
    world = World(path, known.names())
    judge = Judge(known, world, setting)
    written = [e for e in known.exercises() if world.path(e.stem).is_file()]
    outcomes = [(c, judge.judge(c)) for e in written for c in e.checks]
    failed = [failure(c, o) for c, o in outcomes if not o.passed]
    figure.count(bool(outcomes) and not failed, "\n".join([f"{folder}:", *failed]))
    turn = [one.name for one in places.variants()].index(folder)
    if (setting.seed + turn) % JUDGED_VARIANTS:
        return [figure]
    return [figure, folder_when_judged(known, path, outcomes, setting.seed)]


def _each_variant(pool: Executor, setting: Setting) -> Futures:
    # the longest first, so that no core is left waiting for the last
    folders = sorted(places.variants(), key=lambda path: -len(list(path.iterdir())))
    return _each(pool, variant_accepted, [path.name for path in folders], setting)


def slips_rejected_and_named(exercise: Exercise, setting: Setting) -> list[Figure]:
    """Every slip costs its exercise; the first message names it, and none names another.

    What the checks expect is remembered from one slip to the next: whatever these have done, the
    solution passes in the end.
    """
    known, world = catalogue(), World(places.SOLUTIONS, catalogue().names())
    rejected, named, judged = Figure("slips rejected"), Figure("slips named"), Figure(TITLE)
    remembered, seen = SlipMemory(), dict[str, list[Outcome]]()
    for number, slip in enumerate(exercise.task.slips, setting.seed):
        judge = _judge_of(known, world, setting, exercise, slip.wrong, remembered)
        outcomes = seen[slip.name] = [judge.judge(check) for check in exercise.checks]
        if number % JUDGED == 0:
            same = same_when_judged(
                known, exercise, "slip", slip.name, outcomes, setting.seed, remembered
            )
            judged.add(same)
    for name, outcomes in seen.items():
        failed = [outcome for outcome in outcomes if not outcome.passed]
        which = f"{_place_of(exercise.stem, name)}: {exercise.full} {name}"
        alike_it = "it gives what the solution gives, or no check tells it"
        rejected.count(bool(failed), f"{which} passes every check: {alike_it}")
        if not failed:
            continue
        errors = (outcome.error for outcome in outcomes)
        names = (one for one in errors if isinstance(one, NameError))
        unknown: BaseException | None = next(names, None)
        if OTHER_PARAMETERS.search(str(failed[0].error)):
            unknown = failed[0].error
        if unknown is not None:
            named.count(False, f"{which} stops with {type(unknown).__name__}: {unknown}")
            continue
        others = {one.slip for one in failed if one.slip in seen} - {name}
        holds = failed[0].slip == name and not others
        named.count(holds, f"{which} {_misnamed(exercise, name, failed, others, seen)}")
    after = Figure("checks that pass on the solutions after all slips")
    right = Judge(known, world, setting, memory=remembered)
    for check in exercise.checks:
        outcome = right.judge(check)
        after.count(_holds(outcome), failure(check, outcome))
    return [rejected, named, after, judged]


def slips_rejected_with_other_seeds(exercise: Exercise, setting: Setting) -> Figure:
    """No slip passes for the numbers that were drawn; that it refuses less does not count."""
    figure = Figure("slips rejected with other seeds")
    world = World(places.SOLUTIONS, catalogue().names())
    for slip in exercise.task.slips:
        checks = [check for check in exercise.checks if not demands_refusal(check)]
        for seed in range(setting.seed, setting.seed + 1 + OTHER_SEEDS):
            drawn, answer = replace(setting, seed=seed), {exercise.name: slip.wrong}
            tells = next((c for c in checks if not run(c, world, drawn, answer)[0].passed), None)
            if tells is None and seed == setting.seed:
                break  # it is told by what it refuses
            figure.count(tells is not None, f"{exercise.full} {slip.name} passes with seed {seed}")
            if tells is not None:  # first, for most probably it tells it with the next seed, too
                checks.remove(tells)
                checks.insert(0, tells)
    return figure


def _misnamed(
    exercise: Exercise,
    name: str,
    failed: Sequence[Outcome],
    others: Iterable[str | None],
    seen: Mapping[str, Sequence[Outcome]],
) -> str:
    """Say what a slip is called instead of its name, and why."""
    mine = list(map(Evidence.of, seen[name]))
    for other, outcomes in seen.items():
        if other != name and all(map(alike, map(Evidence.of, outcomes), mine)):
            return f"gives the same as {other}, {_place_of(exercise.stem, other)}"
    said = failed[0].slip
    first = f"is named {said} first" if said else "has no name in the first check that it fails"
    elsewhere = sorted(str(one) for one in others if one != said)
    return ", elsewhere ".join([first, *elsewhere])


def _place_of(stem: str, slip: str) -> str:
    """Say where a slip stands."""
    return defined_at(places.COACH / f"{stem}.py", slip)


def spoils_rejected_and_named(exercise: Exercise, setting: Setting) -> list[Figure]:
    """A right function, spoiled in every way that is common to all, is rejected and named."""
    spoils = spoils_for(exercise, setting.device)
    if not spoils:
        return []
    known, world = catalogue(), World(places.SOLUTIONS, catalogue().names())
    rejected, named = Figure("spoiled answers rejected"), Figure("spoiled answers named")
    judged = Figure(TITLE)
    # which of them is judged as well is another with each exercise: so all ways have their turn
    turn = [one.full for one in known.exercises()].index(exercise.full)
    for number, spoil in enumerate(spoils, setting.seed + turn):
        right = getattr(world.load(exercise.stem), exercise.name)
        judge = _judge_of(known, world, setting, exercise, spoil.spoil(right))
        outcomes = list(map(judge.judge, exercise.checks))
        failed = [outcome for outcome in outcomes if not outcome.passed]
        full = f"{exercise.full} {spoil.slip}"
        rejected.count(bool(failed), f"{full} passes")
        said = sorted({str(outcome.slip) for outcome in failed})
        named.count(spoil.slip in said, f"{full} is named {', '.join(said)}")
        if number % JUDGED == 0:
            judged.add(
                same_when_judged(known, exercise, "spoil", spoil.slip, outcomes, setting.seed)
            )
    return [rejected, named, judged]


def of_exercise(full: str, setting: Setting) -> list[Figure]:
    """Prove one exercise: runs in a process of its own beside others."""
    begin()
    exercise = catalogue().exercise(full)
    return [
        solution_passes_with_other_seeds(exercise, setting),
        *slips_rejected_and_named(exercise, setting),
        slips_rejected_with_other_seeds(exercise, setting),
        *spoils_rejected_and_named(exercise, setting),
    ]


def strangers_of(full: str, setting: Setting) -> list[Figure]:
    """Prove what strangers wrote for an exercise: runs in a process of its own beside others."""
    begin()
    return strangers_told(catalogue().exercise(full), setting)


def of_devices(which: str, setting: Setting) -> list[Figure]:
    """Prove what the dry run says: runs in a process of its own beside others."""
    begin()
    return [MISTAKES_AND_RIGHT[which](catalogue(), setting)]


def _each_exercise(pool: Executor, exercises: list[Exercise], setting: Setting) -> Futures:
    order = sorted(exercises, key=lambda e: -len(e.task.slips) * len(e.checks))
    return _each(pool, of_exercise, [exercise.full for exercise in order], setting)


@contextlib.contextmanager
def _pool(jobs: int) -> Iterator[Executor]:
    """Prove so many at a time; after an error nothing is begun any more."""
    pool = ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn"))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _each(
    pool: Executor,
    prove_one: Callable[[str, Setting], list[Figure]],
    names: Iterable[str],
    setting: Setting,
) -> Futures:
    """Let each be proved in its turn."""
    return [pool.submit(prove_one, name, setting) for name in names]


def _total(futures: Futures) -> list[Figure]:
    """Wait for them, and add up their figures."""
    totals = added_up(figure for future in futures for figure in future.result())
    return sorted(totals, key=lambda figure: figure.title == TITLE)


def _judge_of(
    known: Catalogue,
    world: World,
    setting: Setting,
    exercise: Exercise,
    wrong: Callable[..., object],
    memory: SlipMemory | None = None,
) -> Judge:
    replaced = {exercise.name: wrong}
    return Judge(known, world, setting, replaced, memory=memory or SlipMemory())
