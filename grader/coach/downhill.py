"""Gradient descent by hand, for slips and drawings: to import torch.optim takes a second."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor


class Downhill:
    """Gradient descent with momentum.

    Args:
        weights: changed in place.
        lr: the rate.
    """

    def __init__(self, weights: Iterable[Tensor], lr: float) -> None:
        self.weights, self.lr = list(weights), lr
        self.speeds = [torch.zeros_like(weight) for weight in self.weights]

    def step(self, loss: Tensor) -> None:
        """Take a step down."""
        slopes = torch.autograd.grad(loss, self.weights)
        with torch.no_grad():
            for weight, speed, slope in zip(self.weights, self.speeds, slopes, strict=True):
                weight.sub_(speed.mul_(0.9).add_(slope), alpha=self.lr)
