"""Errors as PyTorch words them are told apart."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from grader.coach.common import common_slip
from grader.coach.errors import error_slip
from grader.judging.outcome import outcome_of
from grader.suite.compare import Finding


def view():
    return torch.ones(2, 3).T.view(6)


def leaf():
    torch.ones(2, requires_grad=True).mul_(2)


def graph():
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y += 1
    y.sum().backward()


def dtypes():
    return torch.ones(2, 2) @ torch.ones(2, 2, dtype=torch.float64)


def shapes():
    return torch.ones(2, 3) @ torch.ones(2, 3)


def broadcast():
    return torch.ones(2, 3) + torch.ones(2, 4)


def dimension():
    return torch.ones(2).transpose(0, 1)


def detached():
    torch.ones(2).sum().backward()


def none():
    return torch.ones(2) + None


def truth():
    return 1 if torch.ones(2) > 0 else 2


def scalar():
    return float(torch.ones(2))


def numpy_of_a_gradient():
    return torch.ones(2, requires_grad=True).numpy()


def numpy_mixed():
    return np.exp(torch.ones(2, requires_grad=True))


def recursion():
    return recursion()


def bmm():
    return torch.bmm(torch.ones(2, 3), torch.ones(3, 2))


def einsum():
    return torch.einsum("bij,bjk->bik", torch.ones(2, 3), torch.ones(3, 2))


def name():
    return np_is_not_imported


def attribute():
    return torch.ones(2).soft_max()


def of_beginners():
    # in a function without types, where mypy does not mind the mistakes
    return [
        (lambda: torch.dot(torch.ones(2, 3), torch.ones(2, 3)), "vectors_only"),
        (lambda: torch.tril(torch.ones(3)), "matrix_needed"),
        (lambda: torch.ones(2, 3) - torch.ones(2, 3).max(-1, keepdim=True), "values_and_places"),
        (lambda: torch.ones(2, 3) / 0.5 ** torch.ones(2, 3).shape, "all_sizes_for_one"),
        (lambda: torch.ones(2) / torch.ones(2).size ** 0.5, "not_called"),
        (lambda: torch.std([torch.ones(())]), "list_for_a_tensor"),
        (lambda: torch.sqrt(4), "number_into_torch"),
        (lambda: len("ab").sqrt() + 1, "number_for_a_tensor"),
        (lambda: len("ab")[0], "number_for_a_tensor"),
        (lambda: 1 - torch.ones(2).bool(), "arithmetic_with_a_mask"),
        (lambda: -torch.ones(2).bool(), "arithmetic_with_a_mask"),
        (lambda: ~torch.ones(2), "numbers_for_a_mask"),
        (lambda: torch.ones(2).masked_fill(torch.ones(2), 0.0), "numbers_for_a_mask"),
        (lambda: torch.where(torch.ones(2), 0.0, 1.0), "numbers_for_a_mask"),
        (lambda: torch.ones(2) / 4 ^ 0.5, "caret_for_a_power"),
        (lambda: 4 ^ 0.5, "caret_for_a_power"),
        (
            lambda: torch.ones(2).masked_fill(torch.ones(2) > 0, ""),
            "arguments_that_torch_cannot_read",
        ),
    ]


@pytest.mark.parametrize(
    ("mistake", "slip"),
    [
        (view, "view_of_scattered_memory"),
        (leaf, "in_place_on_a_leaf"),
        (graph, "in_place_breaks_the_gradient"),
        (dtypes, "mixed_dtypes"),
        (shapes, "sizes_do_not_fit"),
        (broadcast, "sizes_do_not_fit"),
        (dimension, "dimension_out_of_range"),
        (detached, "not_on_the_graph"),
        (none, "nothing_returned_inside"),
        (truth, "truth_of_a_tensor"),
        (scalar, "cannot_read_one_number"),
        (numpy_of_a_gradient, "numpy_of_a_gradient"),
        (numpy_mixed, "numpy_of_a_gradient"),
        (recursion, "endless_recursion"),
        (bmm, "one_batch_dimension_only"),
        (einsum, "einsum_counts_dimensions"),
        (name, "unknown_name"),
        (attribute, "unknown_attribute"),
        *of_beginners(),
    ],
)
def test_errors_of_pytorch(mistake, slip):
    with pytest.raises(Exception) as raised:  # noqa: PT011
        mistake()
    found = error_slip(raised.value, ["mistake"])
    assert found is not None
    assert found.name == slip


def test_cuda_words_for_mixed_devices():
    said = (
        "Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
        "and cpu!"
    )
    found = error_slip(RuntimeError(said), ["softmax"])
    assert found is not None
    assert found.name == "mixed_devices"


def test_a_call_that_fails_is_another_signature():
    error = TypeError("softmax() takes 1 positional argument but 2 were given")
    assert error_slip(error, []).name == "other_signature"
    assert error_slip(error, ["attention_weights"]).name == "wrong_arguments_inside"


def test_a_refusal_of_what_fits():
    assert error_slip(ValueError("sizes 2, 3"), ["softmax"]).name == "refuses_what_fits"
    handed_on = error_slip(ValueError("sizes 2, 3"), ["attention", "mix_values", "_require"])
    assert handed_on.name == "hands_on_a_misfit"


def test_what_torch_has_not_implemented_is_no_stub():
    with pytest.raises(NotImplementedError) as raised:
        torch.ones(2) ^ 0.5
    error = raised.value
    error.kit_frames, error.kit_owner = [], "ex02_scaling.scale_scores"
    assert outcome_of(error, "ex02_scaling.scale_scores", None).verdict == "error"


@pytest.mark.parametrize(
    ("label", "kept"),
    [
        ("the output", False),
        ("the output of a second call with the same `query`", True),
        ("the output with another memory", True),
    ],
)
def test_what_is_kept_from_call_to_call_has_a_sentence(label, kept):
    found = Finding("value", label, torch.zeros(2), torch.ones(2))
    slip = common_slip(found)
    assert (slip is not None and slip.name == "kept_from_an_earlier_call") is kept
