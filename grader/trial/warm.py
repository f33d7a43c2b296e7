"""What the processes for trials load once, so that each new one starts in milliseconds.

One thread from the first import on: a child that is forked after a parallel operation hangs. And
nothing here may touch CUDA: it cannot be started again after a fork.
"""

import gc
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
gc.disable()  # nothing of what is imported is garbage

import jaxtyping  # noqa: E402, F401 - every chapter imports it
import torch  # noqa: E402

torch.set_num_threads(1)

from grader.chapters import catalogue  # noqa: E402
from grader.trial.attempt import attempt, the_plan  # noqa: E402
from grader.workers.warm import optimizer  # noqa: E402

__all__ = ["attempt", "the_plan"]

catalogue()
optimizer()
# what is collected in a child would else touch, and so copy, every page that it shares
gc.collect()
gc.freeze()
gc.enable()
