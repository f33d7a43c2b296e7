"""A batch in parts on a cluster: parts are cut, run as jobs and put together as one run."""

from __future__ import annotations

import functools
import math
import os
import re
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.batch import store
from grader.batch.executors import Kind, executor
from grader.batch.join import differing_machines, joined
from grader.batch.parts import part_in
from grader.batch.shard import Shard, shard_of
from grader.batch.spread import Piece, spread
from grader.naming import in_words
from grader.reports.parts_line import parts_line
from grader.reports.text import tell
from grader.results import Run
from grader.workers import cores

# submissions in a part, and cores of a machine of Slurm's, where nobody says otherwise
IN_A_PART, CORES = 25, 4
MOST = 1000
JOBS = "jobs"
GradePart = Callable[[Shard, Path, int, int], str]


@dataclass(frozen=True)
class Cluster:
    """Where jobs run, as given.

    Attributes:
        kind: of cluster.
        shards: into how many parts the batch is cut; None where the grader is to choose.
        options: what else the cluster is to be told.
    """

    kind: Kind
    shards: int | None = None
    options: Sequence[str] = ()


def grade_on(
    cluster: Cluster,
    count: int,
    folder: Path,
    grade_part: GradePart,
    *,
    jobs: int | None,
    memory: int,
    gpu: bool,
    seed: int | None,
) -> Run:
    """Grade all parts of a batch as jobs, and put them together.

    Args:
        cluster: where.
        count: how many submissions there are.
        folder: for the parts' results, which a stopped run goes on from.
        grade_part: grades a part with so many jobs and this seed into a results file, and says why
            it cannot, if so; it is called in another process, maybe on another machine.
        jobs: how many submissions each job grades at a time, if that is said.
        memory: megabytes for each submission.
        gpu: whether a GPU is needed.
        seed: of the inputs, if it is said.

    Raises:
        ValueError: it cannot be done; where arguments are the reason, nothing was started.
        StopAsked: by a signal; no job is left.
    """
    own = len(cores.mine()) or os.cpu_count() or 1
    jobs = jobs or (CORES if cluster.kind == "slurm" else 1)
    room = MOST if cluster.kind == "slurm" else max(1, own // jobs)
    folder = Path(os.path.abspath(folder))
    logs = folder / JOBS
    files = _files(folder, cluster.shards, max(math.ceil(count / IN_A_PART), min(room, own)))
    jobs_of = executor(
        cluster.kind, logs, cluster.options, cores=jobs, memory=jobs * memory, gpu=gpu
    )
    seed = _shared_seed(files, seed)
    # nobody is at work on the files, so whoever still waits for these has lost his time
    shutil.rmtree(logs, ignore_errors=True)
    logs.mkdir(parents=True)
    pieces = [
        Piece(str(shard), functools.partial(grade_part, shard, file, jobs, seed))
        for shard, file in files.items()
    ]
    with parts_line(count, len(pieces)) as line:
        spread(pieces, jobs_of, room, line)
    found = [part for part in map(part_in, files.values()) if part is not None]
    run, _ = joined(found)
    tell(*differing_machines(found))
    return run


def _files(folder: Path, asked: int | None, usual: int) -> dict[Shard, Path]:
    """Say which part is kept where: in as many as the folder holds already, if it holds any."""
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--cluster keeps a file for each part: --results {folder} is no folder")
    named = [re.fullmatch(r"part-\d+-of-(\d+)\.db", path.name) for path in folder.glob("part-*")]
    there = {int(one[1]) for one in named if one}
    of = asked or min(there or {usual})
    if there - {of}:
        held = in_words([str(one) for one in sorted(there)])
        other = "another folder" if len(there) > 1 else f"--shards {held}, or another folder"
        raise ValueError(f"{folder} holds a batch cut into {held} parts: {other}")
    shards = [shard_of(f"{part}/{of}") for part in range(1, of + 1)]
    return {shard: folder / f"part-{shard.part}-of-{of}.db" for shard in shards}


def _shared_seed(files: dict[Shard, Path], asked: int | None) -> int:
    """Give all results files the seed of the run, or take it from them; none is in use then."""
    for shard, file in files.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        with store.opened(file) as kept:
            kept.refuse_another(shard)
            seed, earlier = kept.seed(asked)
        if earlier:
            tell(f"seed {seed}, as before in {file.parent}; --seed N takes another")
        asked = seed
    return seed
