"""Slips that every function knows: recognised by the kind of difference, not by the values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from grader.suite.compare import Finding


@dataclass(frozen=True)
class Common:
    """A slip told by the kind of finding.

    Attributes:
        name: as the report names it.
        fits: whether a finding shows this slip.
        says: the sentence; `{label}`, `{actual}` and `{expected}` are filled in.
    """

    name: str
    fits: Callable[[Finding], bool]
    says: str


def _type(*types: type) -> Callable[[Finding], bool]:
    return lambda found: found.kind == "type" and isinstance(found.actual, types)


def _numpy(found: Finding) -> bool:
    return found.kind == "type" and type(found.actual).__module__ == "numpy"


def _dtype(became: torch.dtype) -> Callable[[Finding], bool]:
    return lambda found: found.kind == "dtype" and found.actual.dtype == became


def _kind(kind: str, detail: str = "") -> Callable[[Finding], bool]:
    return lambda found: found.kind == kind and found.detail.startswith(detail)


def _nan_gradient(found: Finding) -> bool:
    return (
        found.kind == "value"
        and found.label.startswith("the gradient")
        and not bool(torch.isfinite(found.actual).all())
    )


COMMON = (
    Common(
        "returns_nothing",
        _type(type(None)),
        "Nothing came back: the function ends without `return`.",
    ),
    Common(
        "returns_numpy",
        _numpy,
        "A NumPy array came back: stay in torch, NumPy knows neither gradients nor the GPU.",
    ),
    Common(
        "returns_plain_number",
        _type(bool, int, float, complex),
        "A plain Python number came back: `.item()`, `float()` or `int()` cuts it from its graph; "
        "return the tensor.",
    ),
    Common(
        "returns_several",
        _type(tuple),
        "A tuple came back: a comma too many after `return`, or more than was asked for.",
    ),
    Common(
        "returns_list",
        _type(list),
        "A list came back: put the pieces together with torch.stack or torch.cat.",
    ),
    Common(
        "not_boolean",
        lambda found: found.kind == "dtype" and found.expected.dtype == torch.bool,
        "A mask is boolean, True where one may attend: numbers 0 and 1 are no mask; compare, or "
        "use dtype=torch.bool.",
    ),
    Common(
        "not_whole_numbers",
        lambda found: found.kind == "dtype" and found.expected.dtype == torch.int64,
        "Indices are int64 (torch.long): give the tensor that dtype.",
    ),
    Common(
        "becomes_float32",
        _dtype(torch.float32),
        "The output is float32 whatever comes in: a constant, `.float()` or a dtype was written "
        "out; take the dtype from the input.",
    ),
    Common(
        "becomes_float64",
        _dtype(torch.float64),
        "The output is float64 whatever comes in: cast back to the input's dtype at the end.",
    ),
    Common(
        "wrong_dtype",
        _kind("dtype"),
        "The dtype changed on the way: the output takes the dtype of its input.",
    ),
    Common(
        "wrong_device",
        _kind("device"),
        "The result is on another device than the inputs: something was made or moved without "
        "`device=` of an input.",
    ),
    Common(
        "gradient_cut",
        _kind("no gradient", "any"),
        "No gradient gets through: `.detach()`, `.data`, `.item()`, torch.no_grad, a new "
        "torch.tensor(...) or NumPy cuts the graph.",
    ),
    Common(
        "gradient_cut_for_one_input",
        _kind("no gradient", "one"),
        "No gradient reaches {label}: it is cut from the graph, or it is not used at all.",
    ),
    Common(
        "gradient_not_finite",
        _nan_gradient,
        "The gradient is NaN or infinite although the output is right: a division 0 / 0 or "
        "-inf - -inf was mended after it happened. Keep it from happening.",
    ),
    Common(
        "changes_its_input",
        _kind("changed"),
        "The call changed its input in place (`+=`, `[...] =` or a method that ends in _): the "
        "caller still needs it; work on a new tensor.",
    ),
    Common(
        "unknown_word_not_refused",
        lambda found: found.kind == "not refused" and found.expected == "KeyError",
        "A word that the vocabulary does not have went through in silence: raise KeyError.",
    ),
    Common(
        "refusal_names_no_word",
        _kind("refused badly", "word"),
        "It is refused, but the error does not say which word: put the word into it.",
    ),
    Common(
        "not_a_key_error",
        lambda found: found.kind == "refused badly" and found.expected == "KeyError",
        "It does stop, but with another error: let the dictionary's KeyError out, it names the "
        "word.",
    ),
    Common(
        "assert_instead_of_an_error",
        lambda found: found.kind == "refused badly" and found.actual.startswith("AssertionError"),
        "An `assert` raises AssertionError, and python -O leaves it out: use `if` and raise "
        "ValueError.",
    ),
    Common(
        "misfit_not_refused",
        _kind("not refused"),
        "Sizes that do not fit went through in silence: compare the shapes first and raise "
        "ValueError.",
    ),
    Common(
        "refusal_names_no_sizes",
        _kind("refused badly", "sizes"),
        "It is refused, but the sentence does not say which sizes do not fit: put the shapes "
        "into the message.",
    ),
    Common(
        "refused_with_another_error",
        _kind("refused badly", "type"),
        "It does stop, but with another error: check the sizes before you compute, and raise "
        "ValueError with a sentence that names them.",
    ),
)


@dataclass(frozen=True)
class ErrorSlip:
    """A slip told by the error that it raises."""

    name: str
    pattern: re.Pattern[str]
    says: str


def _error(name: str, pattern: str, says: str) -> ErrorSlip:
    return ErrorSlip(name, re.compile(pattern, re.IGNORECASE), says)


OTHER_SIGNATURE = "other_signature"
ERRORS = (
    _error(
        "mixed_devices",
        r"on the same device|found at least two devices|indices should be either on|"
        r"cannot copy out of meta|doesn't match the device|device type",
        "Two tensors on two devices: something was made without `device=`, so it is on the CPU "
        "while the inputs are elsewhere. Give it the device of an input.",
    ),
    _error(
        "numpy_of_a_gradient",
        r"can't call numpy\(\)|unsupported ScalarType|convert cuda|device type tensor to numpy",
        "`.numpy()` works only on the CPU and outside the graph: stay in torch.",
    ),
    _error(
        "view_of_scattered_memory",
        r"view size is not compatible|use \.reshape",
        "`view` needs memory in order, and after a transpose it is not: use `reshape`.",
    ),
    _error(
        "in_place_on_a_leaf",
        r"leaf variable that requires grad|a view of a leaf",
        "An input that collects gradients was changed in place: work on a new tensor.",
    ),
    _error(
        "in_place_breaks_the_gradient",
        r"modified by an inplace operation",
        "A tensor that the backward pass needs was changed in place after it was used: make a new "
        "one instead of `+=`, `[...] =` or a method that ends in _.",
    ),
    _error(
        "mixed_dtypes",
        r"same dtype|expected scalar type|dtypes? .*(differ|match)|but got .*(half|float|double|"
        r"bfloat16|long)|must match .*dtype|expected .* dtype|not implemented for",
        "Two dtypes met: a constant or a parameter does not have the input's dtype. Build it with "
        "`dtype=` of the input.",
    ),
    _error(
        "einsum_counts_dimensions",
        r"subscripts in the equation|einsum\(\)",
        "The einsum does not fit the dimensions: count its letters, and let `...` stand for any "
        "number of batch dimensions.",
    ),
    _error(
        "one_batch_dimension_only",
        r"batch1 must|batch2 must|must be a 3D tensor|self must be a matrix|mat2 must be a matrix",
        "torch.bmm takes just one batch dimension and torch.mm none: torch.matmul, or @, takes any "
        "number.",
    ),
    _error(
        "nothing_to_put_together",
        r"non-empty TensorList|non-empty list|need at least one",
        "With a size of 0 there is nothing to stack or cat: make room for an empty answer.",
    ),
    _error(
        "sizes_do_not_fit",
        r"shapes cannot be multiplied|size of tensor a|must match the (size|existing)|"
        r"expected size for first two dimensions|subscript|invalid for input of size|"
        r"shape .* is invalid|not broadcastable|inconsistent tensor size|expanded size|"
        r"broadcast|1D tensors? expected|must be (1-D|2-D|at least|batches of)|batch2|mat2|vec",
        "The sizes do not fit together: write the shape of each factor beside its line; a "
        "transpose or a dimension is likely wrong.",
    ),
    _error(
        "dimension_out_of_range",
        r"dimension out of range|dimension specified as|only tensors up to|too many indices",
        "A dimension was counted that is not there: count from the end (-1, -2), so that any "
        "number of batch dimensions may stand in front.",
    ),
    _error(
        "not_on_the_graph",
        r"does not require grad|element 0 of tensors",
        "There is no graph to go back through: `.detach()`, `.data`, torch.no_grad or a new tensor "
        "cut it.",
    ),
    _error(
        "nothing_returned_inside",
        r"'NoneType'|NoneType object",
        "A None was used as a value: a function that this one calls, or an optional argument, gave "
        "nothing.",
    ),
    _error(
        "truth_of_a_tensor",
        r"truth value|bool value of tensor|ambiguous",
        "`if`, `and` or `or` on a whole tensor has no answer: use torch.where, &, | or .all().",
    ),
    _error(
        "cannot_read_one_number",
        r"cannot be converted to scalar|only one element tensors",
        "`.item()`, `float()` or `int()` met a tensor of more than one element.",
    ),
    _error(
        "endless_recursion",
        r"maximum recursion depth",
        "The function calls itself for ever.",
    ),
    _error(
        OTHER_SIGNATURE,
        r"positional argument|unexpected keyword|required (positional|keyword)|missing \d+",
        "The function takes other arguments than the contract says: keep the signature of the "
        "stub.",
    ),
    _error(
        "wrong_arguments_inside",
        r"positional argument|unexpected keyword|required (positional|keyword)|missing \d+",
        "A call on that line passes other arguments than the function takes.",
    ),
    _error(
        "assertion",
        r"^AssertionError",
        "An `assert` of yours does not hold for sizes that fit.",
    ),
    _error(
        "unknown_name",
        r"name '.*' is not defined|cannot access local variable|referenced before assignment",
        "A name is used that nothing has defined: a typo, or an import is missing at the top.",
    ),
    _error(
        "unknown_attribute",
        r"has no attribute",
        "There is no such method or attribute: look at its spelling and at what it is called on.",
    ),
    _error(
        "leaves_the_program",
        r"^SystemExit",
        "sys.exit, exit() or quit() has no place in a function: return the answer instead.",
    ),
)


REFUSED = ErrorSlip(
    "refuses_what_fits",
    re.compile("^ValueError"),
    "You refuse sizes that do fit: look at which dimensions the condition before the `raise` "
    "compares, and whether a transpose is missing.",
)
HANDED_ON = ErrorSlip(
    "hands_on_a_misfit",
    re.compile("^ValueError"),
    "A function that this one calls refuses what it is handed: look at the shapes in that call; a "
    "transpose is missing or too many, or a dimension is.",
)


def common_slip(found: Finding) -> Common | None:
    """Return the common slip that a finding shows."""
    return next((slip for slip in COMMON if slip.fits(found)), None)


def error_slip(error: BaseException, functions: Sequence[str] = ("?",)) -> ErrorSlip | None:
    """Return the slip that an error shows, by its text.

    Args:
        error: what was raised.
        functions: those of the answer that it went through; none if the call itself failed.
    """
    inside = bool(functions)
    if isinstance(error, ValueError) and inside:
        public = {name for name in functions if not name.startswith("_")}
        return HANDED_ON if len(public) > 1 else REFUSED
    said = f"{type(error).__name__}: {error}"
    fitting = [slip for slip in ERRORS if slip.pattern.search(said)]
    return next((s for s in fitting if not (inside and s.name == OTHER_SIGNATURE)), None)


def fill(says: str, found: Finding) -> str:
    """Put the finding's label into a sentence."""
    return says.replace("{label}", found.label)
