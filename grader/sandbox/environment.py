"""The environment of nursery and worker: what PyTorch needs, and nothing of the judge's."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

_KEPT = (
    *("LANG", "LC_ALL", "LC_CTYPE", "TZ", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH"),
    *("SYSTEMROOT", "SYSTEMDRIVE", "WINDIR"),  # without these Python does not start on Windows
)
_KEPT_WITH_GPU = (
    *("CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    *("ZE_AFFINITY_MASK", "ONEAPI_DEVICE_SELECTOR"),
)
# the first backward pass of a process starts a thread for each GPU that it sees, and no fork of it
# can go backward any more: a nursery that warms up for the CPU must see none
_SET_WITHOUT_GPU = {
    "CUDA_VISIBLE_DEVICES": "",
    "HIP_VISIBLE_DEVICES": "",
    # all of Intel's; an empty mask of Level Zero's would show them all
    "ONEAPI_DEVICE_SELECTOR": "!level_zero:*",
}
# to ask CUDA itself how many GPUs there are starts it, and it cannot be started again after a fork
_SET_WITH_GPU = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
_NOWHERE = Path("/nowhere")
_SET = {
    "PYTHONDONTWRITEBYTECODE": "1",
    # a package that brings torch a device may fail, print or start threads as it is loaded
    "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    "PYTHONUNBUFFERED": "1",
    # sets of texts have one order in every worker, so that the same answer does the same
    "PYTHONHASHSEED": "0",
    # one thread before the fork: a library that has started more hangs in the child
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    # each further arena reserves 64 MB of addresses, which the limit on memory would count
    "MALLOC_ARENA_MAX": "2",
    # memory that was never written holds the same in every worker, and no zeros
    "MALLOC_PERTURB_": "85",
}


def clean_environment(
    given: Mapping[str, str] | None = None, *, gpu: bool = False
) -> dict[str, str]:
    """Return the environment to start a nursery in.

    A worker can read all that the nursery was started with, so nothing else may be in it.

    Args:
        given: what to take from; by default this process's own.
        gpu: whether its workers use one.
    """
    given = os.environ if given is None else given
    kept = (*_KEPT, *_KEPT_WITH_GPU) if gpu else _KEPT
    return {
        **{name: given[name] for name in kept if name in given},
        **_SET,
        **(_SET_WITH_GPU if gpu else _SET_WITHOUT_GPU),
    }


def settle(scratch: Path | None, *, gpu: bool = False) -> None:
    """Leave in this process's environment only what a worker needs.

    Args:
        scratch: the folder that it may write to, if there is one.
        gpu: whether it uses one.
    """
    kept = clean_environment(gpu=gpu)
    home = str(scratch or _NOWHERE)
    os.environ.clear()
    os.environ.update(kept, HOME=home, TMPDIR=home, USER="student", LOGNAME="student")
    tempfile.tempdir = home  # it would look for a folder that can be written to, and fail
    if not scratch:
        # torch.optim makes this folder when it is first used: one that is there needs no making
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = "/"
