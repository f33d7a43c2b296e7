"""Ordinary work that must go on inside the walls."""

from __future__ import annotations

import io
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

from grader.sandbox.drill.attack import Deed, Target

WORK: dict[str, Deed] = {}
NEEDS_SCRATCH = ("save_to_file", "temporary_files")


def work(deed: Deed) -> Deed:
    """Add a function to the work; it returns something, or fails."""
    WORK[deed.__name__] = deed
    return deed


@work
def import_own_answer(world: Target) -> object:
    """Import the submission."""
    sys.path.append(world.own)
    import ex01_scores  # type: ignore[import-not-found]

    return ex01_scores.answer


@work
def train(_: Target) -> object:
    """Train a layer; the first optimizer loads eight hundred modules."""
    import torch

    layer = torch.nn.TransformerEncoderLayer(16, 2, batch_first=True)
    optimizer = torch.optim.Adam(layer.parameters())
    loss = layer(torch.randn(2, 3, 16)).sum()
    loss.backward()
    optimizer.step()
    return float(loss.detach())


@work
def save_to_memory(_: Target) -> object:
    """Save a tensor and load it again."""
    import torch

    file = io.BytesIO()
    torch.save({"weight": torch.ones(3)}, file)
    file.seek(0)
    return torch.load(file)["weight"].tolist()


@work
def save_to_file(_: Target) -> object:
    """Save a tensor to the working folder and load it again."""
    import torch

    torch.save(torch.ones(3), "weights.pt")
    return torch.load("weights.pt").tolist()


@work
def temporary_files(world: Target) -> object:
    """Use a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "notes").write_text("x" * 100_000)
        return folder if folder.startswith(world.scratch) else None


@work
def numbers(_: Target) -> object:
    """Calculate with NumPy and with PyTorch's linear algebra."""
    import numpy as np
    import torch

    return float(np.linalg.svd(np.eye(5))[1].sum() + torch.linalg.svd(torch.eye(5))[1].sum())


@work
def threads(world: Target) -> object:
    """Work in as many threads as one may have."""
    import torch

    done: list[float] = []
    start = threading.Barrier(world.threads - 1)

    def one() -> None:
        start.wait()
        done.append(float((torch.ones(32, 32) @ torch.ones(32, 32)).sum()))

    workers = [threading.Thread(target=one) for _ in range(world.threads - 1)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return len(done)


@work
def threads_of_pytorch(_: Target) -> object:
    """Have PyTorch itself use several threads."""
    import torch

    torch.set_num_threads(4)
    matrix = torch.ones(600, 600)
    return float((matrix @ matrix)[0, 0])


@work
def alarm(_: Target) -> object:
    """Be woken by the clock."""

    def wake(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, wake)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        time.sleep(5)
    except TimeoutError:
        return "woken"
    return None


@work
def too_much_for_pytorch(world: Target) -> object:
    """Be told by PyTorch that the memory is used up, and go on."""
    import torch

    try:
        torch.empty(world.memory * 2, 1 << 20, dtype=torch.uint8)
    except RuntimeError as error:
        return str(error) if "can't allocate memory" in str(error) else None
    return None


@work
def too_much_for_python(world: Target) -> object:
    """Be told by Python that the memory is used up, and go on."""
    try:
        bytearray(world.memory * 2 << 20)
    except MemoryError:
        return "told"
    return None


@work
def most_of_memory(world: Target) -> object:
    """Use nearly all memory that one may."""
    import torch

    return float(torch.ones((world.memory - 100) // 4, 1 << 20).sum())


@work
def crash_reports(_: Target) -> object:
    """Find the source of a module of PyTorch's, for a traceback."""
    import inspect

    import torch

    return len(inspect.getsource(torch.nn.Linear))
