"""What runs the jobs of a batch: Slurm, or this machine, both by way of submitit."""

from __future__ import annotations

import contextlib
import os
import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Literal

Kind = Literal["slurm", "local"]
KINDS: tuple[Kind, ...] = ("slurm", "local")
NAME = "grader"
# what is not done by then goes on in another job; on this machine nobody sets a limit
MINUTES = {"slurm": 60, "local": 10**6}
# sbatch's options that say what a job is
OURS = ("array", "output", "error", "open_mode", "signal", "wrap")


def executor(
    kind: Kind, folder: Path, options: Sequence[str], *, cores: int, memory: int, gpu: bool
) -> Any:
    """Return submitit's executor; nothing is started.

    Args:
        kind: of cluster.
        folder: for what the jobs are told, and what they say.
        options: KEY=VALUE, as sbatch takes them.
        cores: of the processor, for each job.
        memory: megabytes for each job.
        gpu: whether each needs one.

    Raises:
        ValueError: it cannot be had here, or an option makes no sense.
    """
    try:
        import submitit
    except ImportError as problem:
        says = "--cluster needs submitit: python -m pip install submitit"
        raise ValueError(says) from problem
    if not hasattr(signal, "SIGUSR2"):
        raise ValueError("--cluster: submitit does not run on this system: use --shard and `merge`")
    own = _slurm(cores, memory, gpu, options) if kind == "slurm" else _local(gpu, options)
    try:
        made = {"slurm": submitit.SlurmExecutor, "local": submitit.LocalExecutor}[kind](folder)
    except RuntimeError as problem:
        says = "--cluster slurm: there is no Slurm here (no `srun`): call it where `sbatch` works"
        raise ValueError(says) from problem
    made.update_parameters(**own)
    return made


def _slurm(cores: int, memory: int, gpu: bool, options: Sequence[str]) -> dict[str, Any]:
    more = dict(map(_option, options))
    own: dict[str, Any] = {"job_name": NAME, "time": MINUTES["slurm"], "cpus_per_task": cores}
    if not any(key.startswith("mem") for key in more):
        own["mem"] = f"{memory}M"
    if gpu and not any(key.startswith(("gres", "gpus")) for key in more):
        own["gpus_per_node"] = 1
    # as sbatch spells them, and in the place of ours: who knows Slurm need not learn submitit
    return own | {"additional_parameters": more}


def _option(text: str) -> tuple[str, str]:
    key, separator, value = text.partition("=")
    name = key.strip().lstrip("-").replace("-", "_")
    if not separator or not re.fullmatch("[a-z_]+", name) or not value or "\n" in value:
        says = "an option of sbatch, as in partition=short or time=2:00:00"
        raise ValueError(f"--cluster-option takes KEY=VALUE, {says}, not `{text}`")
    if name in OURS:
        raise ValueError(f"--cluster-option {key}: the grader itself says that")
    return name, value


def _local(gpu: bool, options: Sequence[str]) -> dict[str, Any]:
    if options:
        raise ValueError(f"--cluster-option {options[0]}: only --cluster slurm has options")
    own: dict[str, Any] = {"timeout_min": MINUTES["local"]}
    if gpu:
        # submitit counts from 0, whichever were left to this process
        named = os.environ.get("CUDA_VISIBLE_DEVICES", "")
        gpus = [int(one) for one in named.split(",") if one.isdecimal()] or [0]
        own |= {"gpus_per_node": len(gpus), "visible_gpus": gpus}
    return own


@contextlib.contextmanager
def silent_children() -> Iterator[None]:
    """Let what is started say nothing here: asked to end, submitit's own process prints where."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
