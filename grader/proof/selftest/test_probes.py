"""What a message says where no slip is recognised: it is tried out, or seen beside the values."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.chapters import World, catalogue
from grader.judging.judge import Judge
from grader.proof.devices.programs import Program


def first_message(folder: Path, full: str, source: str) -> tuple[str, str | None]:
    """Judge the solutions with one function exchanged; return the first message and its slip."""
    known = catalogue()
    answers = Program(full, "", source).folder(folder)
    judge = Judge(known, World(answers, known.names()))
    outcomes = map(judge.judge, known.exercise(full).checks)
    wrong = next(outcome for outcome in outcomes if not outcome.passed)
    return wrong.message, wrong.slip


WRONG = {
    "random": (
        "ex01_scores.project_linear",
        "def project_linear(x, weight, bias=None):\n"
        "    layer = torch.nn.Linear(weight.shape[1], weight.shape[0]).to(x)\n"
        "    return layer(x)",
        "Two equal calls gave different values",
    ),
    "never asked": (
        "ex07_model.predict",
        "def predict(model, words, vocabulary):\n"
        "    return next(word for word in vocabulary if word not in words)",
        "and the model was\nnever asked",
    ),
    "squeezed": (
        "ex06_heads.merge_heads",
        "_merge = merge_heads\ndef merge_heads(x):\n    return _merge(x).squeeze()",
        "dimensions of size 1 are gone",
    ),
    "an input changed on the way": (
        "ex01_scores.project_linear",
        "def project_linear(x, weight, bias=None):\n"
        "    with torch.no_grad():\n        weight.t_()\n"
        "    y = x @ weight\n    return y if bias is None else y + bias",
        "the call changed the input `weight`",
    ),
    "batch as one sequence": (
        "ex05_mixing.self_attention",
        "def self_attention(x, w_q, w_k, w_v, causal=False):\n"
        "    tokens = x.reshape(-1, x.shape[-1])\n"
        "    mask = causal_mask(len(tokens), x.device) if causal else None\n"
        "    out = attention(tokens @ w_q, tokens @ w_k, tokens @ w_v, mask)\n"
        "    return out.reshape(*x.shape[:-1], w_v.shape[1])",
        "Each sequence alone is right, but in a batch it is not",
    ),
    "dimensions in another order": (
        "ex01_scores.dot_product_scores",
        "_scores = dot_product_scores\ndef dot_product_scores(query, key):\n"
        "    out = _scores(query, key)\n    return out.movedim(-2, 0)",
        "rearranged by permute(1, 0, 2), are right",
    ),
    "numbers in other places": (
        "ex06_heads.split_heads",
        "_split = split_heads\ndef split_heads(x, n_heads):\n"
        "    out = _split(x, n_heads)\n"
        "    return torch.stack([part.flip(-1).roll(1, -2) for part in out])",
        "All the right numbers are there, in other places",
    ),
    "a mask changed for the way back": (
        "ex05_mixing.attention",
        "_attend = attention\ndef attention(query, key, value, mask=None):\n"
        "    out = _attend(query, key, value, mask)\n"
        "    if mask is not None:\n        mask.logical_not_()\n"
        "    return out",
        "the call changed the input `mask`",
    ),
    "arguments in another order": (
        "ex01_scores.project_columns",
        "_columns = project_columns\ndef project_columns(weight, x, bias=None):\n"
        "    return _columns(x, weight, bias)",
        "in your `def` they are in another order than in the stub",
    ),
    "found by its size": (
        "ex01_scores.project_rows",
        "def project_rows(x, weight, bias=None):\n    y = x @ weight\n"
        "    if bias is None:\n        return y\n"
        "    return y + (bias[:, None] if len(bias) == y.shape[-2] else bias)",
        "At other sizes it is right",
    ),
    "the diagonal three times": (
        "ex01_scores.naive_scores",
        "_naive = naive_scores\ndef naive_scores(tokens):\n"
        "    out = _naive(tokens)\n    return out + 2 * out * torch.eye(len(out))",
        "Only the diagonal is wrong: it is 3 times the right one",
    ),
    "cut": (
        "ex01_scores.project_linear",
        "_linear = project_linear\ndef project_linear(x, weight, bias=None):\n"
        "    return _linear(x, weight, bias)[..., :-1]",
        "right as far as it goes, but it ends too early",
    ),
    "handed on": (
        "ex05_mixing.self_attention",
        "def self_attention(x, w_q, w_k, w_v, causal=False):\n"
        "    return attention(x @ w_q, x @ w_k, x, torch.ones(3, 3, dtype=torch.bool))",
        "`apply_mask`, which `attention_weights` calls, refuses what is handed on to it",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_tried_out_is_said(tmp_path, what):
    full, source, says = WRONG[what]
    message, _ = first_message(tmp_path / "answers", full, source)
    assert " ".join(says.split()) in " ".join(message.split()), message


def test_where_an_error_began_and_ended_is_shown(tmp_path):
    full, source, _ = WRONG["handed on"]
    message, _ = first_message(tmp_path / "answers", full, source)
    assert "in self_attention" in message
    assert message.count(", line ") <= 3
