"""What the fork server loads once, so that a worker starts in milliseconds.

One thread from the first import on: a child that is forked after a parallel operation hangs. And
nothing here may touch CUDA: it cannot be started again after a fork.
"""

import torch

torch.set_num_threads(1)

from grader.chapters import catalogue  # noqa: E402
from grader.judging import worker  # noqa: E402, F401

catalogue()
# the first optimiser of a process imports 800 modules, which would count as the answer's time
torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
