"""Grading submissions."""

from __future__ import annotations

import argparse
from pathlib import Path

from grader.commands import reporting
from grader.commands.usage import UsageError, as_usage, positive

HELP = "score submissions on CPU and CUDA"


def add(parser: argparse.ArgumentParser) -> None:
    """Add the paths and the options of a run."""
    parser.add_argument("paths", nargs="+", type=Path, metavar="PATH",
                       help="a submission (folder, .zip, .tar.gz) or a folder of them")  # fmt: skip
    parser.add_argument("--device", default="auto",
                       help="auto (default: cpu, and cuda if it is here), cpu, cuda, mps, xpu "
                            "or another that PyTorch has here; several with commas")  # fmt: skip
    reporting.add_options(parser)
    parser.add_argument("--only", metavar="NAME", action="append", default=[],
                       help="a chapter or function, or several: NAME,NAME or ex01..ex04; "
                            "repeatable")  # fmt: skip
    parser.add_argument("--earlier", choices=("own", "reference"), default="own",
                       help="whose earlier chapters a chapter is graded over: the student's own "
                            "(default), or the reference's")  # fmt: skip
    parser.add_argument("--duplicates", choices=("latest", "best", "refuse"),
                       help="what counts of a student who has handed in more than once "
                            "(default: each is graded by itself)")  # fmt: skip
    parser.add_argument("--jobs", type=positive(int), metavar="N",
                       help="submissions at a time (default: one for each core)")  # fmt: skip
    parser.add_argument("--seed", type=int, metavar="N",
                       help="seed of the inputs (default: that of --results, or new)")  # fmt: skip
    parser.add_argument("--time-limit", type=positive(float), default=10.0, metavar="S",
                       help="seconds for each check (default: 10)")  # fmt: skip
    parser.add_argument("--memory", type=positive(int), default=4096, metavar="MB",
                       help="megabytes for each submission (default: 4096)")  # fmt: skip
    parser.add_argument("--require-sandbox", action="store_true",
                       help="refuse to grade where a submission cannot be shut in")  # fmt: skip
    parser.add_argument("--results", type=Path, metavar="FILE",
                       help="keep results in FILE (SQLite): a stopped run goes on from there, "
                            "unchanged submissions are not graded again")  # fmt: skip
    parser.add_argument("--shard", metavar="I/N",
                        help="grade part I of N, with --seed and --results: `merge` makes one run "
                             "of all the parts")  # fmt: skip
    parser.add_argument("--cluster", choices=("slurm", "local"),
                        help="grade in parts, as an array of jobs, and put them together; needs "
                             "submitit, and --results FOLDER, where a stopped run goes on "
                             "from")  # fmt: skip
    parser.add_argument("--shards", type=positive(int), metavar="N",
                        help="with --cluster: cut into N parts (default: one for every 25 "
                             "submissions)")  # fmt: skip
    parser.add_argument("--cluster-option", metavar="KEY=VALUE", action="append", default=[],
                        help="with --cluster slurm: an option of sbatch, as in partition=short or "
                             "time=2:00:00; repeatable")  # fmt: skip


def run(given: argparse.Namespace) -> int:
    """Grade and report."""
    from grader.batch.cluster import Cluster
    from grader.batch.command import GradeRequest, grade

    if not given.cluster and (given.shards or given.cluster_option):
        raise UsageError("--shards and --cluster-option go with --cluster slurm or local")
    cluster = Cluster(given.cluster, given.shards, given.cluster_option) if given.cluster else None
    request = GradeRequest(
        given.paths, given.device, reporting.wanted(given), given.only, given.jobs, given.seed,
        given.time_limit, given.memory, given.results,
        given.require_sandbox, given.shard, given.duplicates, given.earlier,
        cluster,
    )  # fmt: skip
    with as_usage(ValueError, OSError):
        return grade(request)
