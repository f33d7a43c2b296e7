"""Chapter 1: whole numbers in, whole numbers out."""

from __future__ import annotations

import torch

X = torch.tensor([[3.0, -1.0, 4.0], [1.0, 5.0, -9.0], [2.0, 6.0, 5.0], [-3.0, 5.0, 8.0]])
W = torch.tensor([[2.0, 7.0], [-1.0, 8.0], [2.0, -8.0]])
B = torch.tensor([1.0, -8.0])

QUESTIONS = {
    "dot_product": lambda f: [f(X[i], X[j]) for i, j in ((0, 1), (2, 3), (3, 0))],
    "naive_scores": lambda f: f(X),
    "project_rows": lambda f: [f(X, W), f(X, W, B)],
    "project_linear": lambda f: [f(X, W.T), f(X, W.T, B)],
    "project_columns": lambda f: [f(X.T, W.T), f(X.T, W.T, B)],
    "dot_product_scores": lambda f: f(X, X[1:] - 2),
}
