"""Errors as Python and PyTorch word them are told apart, by their text and by the line that failed.

Each row is a line as a student may have written it, and the slip that is to be named, or None
where nothing that is known is true of it.
"""

from __future__ import annotations

import traceback

import pytest
import torch

from grader.coach.common import common_slip
from grader.coach.errors import error_slip
from grader.judging.outcome import outcome_of
from grader.suite.compare import Finding, later_call, same

BEFORE = """
import math
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

def {name}():
    x, y = torch.ones(2, 3), torch.ones(3, 2)
    mask, weight = torch.ones(2).bool(), torch.ones(2, requires_grad=True)
    logits, targets, n_heads = torch.ones(4, 3), torch.zeros(4, dtype=torch.long), 2
    {line}

{name}()
"""

# it knows errors of its own, too
CHAPTER = "ex07_model"
LINES = [
    ("return x.T.view(6)", "view_of_scattered_memory"),
    ("weight.mul_(2)", "in_place_on_a_leaf"),
    ("e = weight.exp(); e += 1; e.sum().backward()", "in_place_breaks_the_gradient"),
    ("return x @ y.double()", "mixed_dtypes"),
    ("return x @ x", "sizes_do_not_fit"),
    ("return x + torch.ones(2, 4)", "sizes_do_not_line_up"),
    ("return x * y", "entry_by_entry"),
    ("return torch.ones(2).transpose(0, 1)", "dimension_out_of_range"),
    ("torch.ones(2).sum().backward()", "not_on_the_graph"),
    ("return x + None", "nothing_returned_inside"),
    ("return 1 if x > 0 else 2", "truth_of_a_tensor"),
    ("return float(x)", "cannot_read_one_number"),
    ("return x.shape[2]", "size_that_is_not_there"),
    ("return (1, 2)[2] + len(x)", "entry_behind_the_last"),
    ('return "do not".split()["not"]', "list_asked_with_a_word"),
    (
        "return F.cross_entropy(logits, torch.zeros(4, 2).long())",
        "targets_with_a_dimension_too_many",
    ),
    ("class NextWordModel: pass\n    return list(NextWordModel())", "model_for_its_parts"),
    ("return torch.ones(2, device=99)", "number_for_a_device"),
    ("return math.sqrt(x)", "cannot_read_one_number"),
    ("return torch.finfo(torch.int8).bits // 8", "finfo_of_whole_numbers"),
    ("return weight.numpy()", "numpy_of_a_gradient"),
    ("return np.exp(weight)", "numpy_of_a_gradient"),
    ("return mistake()", "endless_recursion"),
    ("return torch.bmm(x, y)", "one_batch_dimension_only"),
    ('return torch.einsum("bij,bjk->bik", x, y)', "einsum_counts_dimensions"),
    ("return numpy.ones(2)", "unknown_name"),
    ("return x.soft_max()", "unknown_attribute"),
    ("return torch.dot(x, x)", "vectors_only"),
    ("return torch.tril(torch.ones(3))", "matrix_needed"),
    ("return x - x.max(-1, keepdim=True)", "values_and_places"),
    ("return x / 0.5 ** x.shape", "all_sizes_for_one"),
    ("return x / x.size ** 0.5", "not_called"),
    ("return torch.std([torch.ones(())])", "list_for_a_tensor"),
    ("return torch.sqrt(4)", "number_into_torch"),
    ("return len(x).sqrt()", "number_for_a_tensor"),
    ("return len(x)[0]", "number_for_a_tensor"),
    ("return 1 - mask", "arithmetic_with_a_mask"),
    ("return -mask", "arithmetic_with_a_mask"),
    ("return ~x", "numbers_for_a_mask"),
    ("return x.masked_fill(torch.ones(2, 3), 0.0)", "numbers_for_a_mask"),
    ("return torch.where(x, 0.0, 1.0)", "numbers_for_a_mask"),
    ("return x / 4 ^ 0.5", "caret_for_a_power"),
    ("return 4 ^ 0.5", "caret_for_a_power"),
    ('return x.masked_fill(x > 0, "")', "arguments_that_torch_cannot_read"),
    ("assert x.shape == y.shape", "assertion"),
    ('raise ValueError("sizes 2, 3")', "refuses_what_fits"),
    # what was misnamed before
    ("return x.view(2, n_heads, 3 / n_heads)", "float_for_a_size"),
    ("return range(3 / 2)", "float_for_a_size"),
    ("return F.cross_entropy(targets, logits)", "loss_arguments_swapped"),
    ("return nn.CrossEntropyLoss(logits, targets)", "loss_made_with_its_inputs"),
    ("return x.reshape(-1, 4)", "reshaped_to_another_size"),
    ("a, b, c = x.shape", "wrong_number_of_names"),
    ("return [1, 2].index(3)", "not_in_the_list"),
    ('return int("a")', None),
    ("return np.ones(2) @ np.ones(3)", "sizes_do_not_fit"),
    ("return torch.stack([])", "nothing_to_put_together"),
]


def raised_by(line: str, tmp_path) -> tuple[Exception, list[traceback.FrameSummary]]:
    """Run a line in a file, and return what it raises with the frames of that file."""
    path = tmp_path / "answer.py"
    path.write_text(BEFORE.format(name="mistake", line=line))
    with pytest.raises(Exception) as raised:  # noqa: PT011
        exec(compile(path.read_text(), str(path), "exec"), {})
    frames = traceback.extract_tb(raised.value.__traceback__)
    return raised.value, [f for f in frames if f.filename == str(path) and f.name == "mistake"]


@pytest.mark.parametrize(("line", "slip"), LINES, ids=[line for line, _ in LINES])
def test_errors_of_pytorch(line, slip, tmp_path):
    error, frames = raised_by(line, tmp_path)
    assert frames
    found = error_slip(error, frames, CHAPTER)
    assert (found.name if found else None) == slip, error


@pytest.mark.parametrize(
    ("said", "slip"),
    [
        ("Expected all tensors to be on the same device, but found at least two devices, cuda:0 "
         "and cpu!", "mixed_devices"),
        ("can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu() to copy the tensor to "
         "host memory first.", "numpy_of_a_gradient"),
        ("Expected a 'cuda' device type for generator but found 'cpu'", "mixed_devices"),
    ],
)  # fmt: skip
def test_cuda_has_words_of_its_own(said, slip):
    assert error_slip(RuntimeError(said), None).name == slip


def frame(name: str, line: str) -> traceback.FrameSummary:
    return traceback.FrameSummary("answer.py", 1, name, lookup_line=False, line=line)


def test_a_call_that_fails_is_another_signature():
    error = TypeError("softmax() takes 1 positional argument but 2 were given")
    inside = [frame("attention_weights", "return softmax(scores, 1)")]
    assert error_slip(error, []).name == "other_signature"
    assert error_slip(error, inside).name == "wrong_arguments_inside"


def test_a_refusal_of_what_fits_is_one_that_raises():
    error = ValueError("sizes 2, 3")
    raising = frame("_require", 'raise ValueError("sizes 2, 3")')
    assert error_slip(error, [frame("softmax", "_require()"), raising]).name == "refuses_what_fits"
    handed_on = [frame("attention", "mix_values(w, v)"), frame("mix_values", "_require()"), raising]
    slip = error_slip(error, handed_on)
    assert slip.name == "hands_on_a_misfit"
    assert slip.says.startswith("`mix_values`, which `attention` calls, refuses what is handed on")
    assert "{" not in slip.says


def test_what_torch_has_not_implemented_is_no_stub():
    with pytest.raises(NotImplementedError) as raised:
        torch.ones(2) ^ 0.5
    error = raised.value
    error.kit_frames, error.kit_owner = [], "ex02_scaling.scale_scores"
    assert outcome_of(error, "ex02_scaling.scale_scores", None).verdict == "error"


@pytest.mark.parametrize(("calls_before", "kept"), [(0, False), (1, True), (2, True)])
def test_what_is_kept_from_call_to_call_has_a_sentence(calls_before, kept):
    with pytest.raises(Finding) as raised, later_call(calls_before):
        same(torch.zeros(2), torch.ones(2))
    slip = common_slip(raised.value)
    assert (slip is not None and slip.name == "kept_from_an_earlier_call") is kept
