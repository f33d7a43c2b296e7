"""Slips that every function knows: recognised by the error that is raised."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from grader.answers.trouble import words_of


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
        "nothing_returned_inside",
        r"'NoneType'|NoneType object",
        "A None was used as a value: an optional argument that was not given, or what came from a "
        "function that ends without `return`.",
    ),
    _error(
        "brackets_mixed_up",
        r"(Tensor|Size|str|dict|list|int|float|tuple)' object is not callable",
        "Round and square brackets are mixed up, or the name stands for something else: it is "
        "`x.shape[-1]`, but `x.size(-1)`.",
    ),
    _error(
        "vectors_only",
        r"1D tensors? expected",
        "torch.dot takes two vectors and nothing larger: `@` takes matrices with any number of "
        "batch dimensions.",
    ),
    _error(
        "matrix_needed",
        r"input tensor must have at least 2 dimensions",
        "A matrix is needed on that line, and a vector came: one of its two sizes is missing.",
    ),
    _error(
        "values_and_places",
        r"torch\.return_types",
        "`max` and `min` over a dimension give two things, the values and where they stand: take "
        "`.values`, or use amax and amin.",
    ),
    _error(
        "caret_for_a_power",
        r"bitwise_xor|type\(s\) for \^",
        "`^` is no power in Python, it compares bits: a power is `**`.",
    ),
    _error(
        "all_sizes_for_one",
        r"torch\.Size'|'torch\.Size|type Size",
        "`.shape` is all the sizes at once: pick the one that is meant, as in shape[0] or "
        "shape[-1].",
    ),
    _error(
        "not_called",
        r"'(builtin_function_or_method|method|function|method_descriptor)'",
        "A function was used as if it were a value: call it, with round brackets.",
    ),
    _error(
        "list_for_a_tensor",
        r"must be Tensor, not (list|tuple)|got \((list|tuple)\b|'(list|tuple)' object has no",
        "A list stands where a tensor belongs: torch.stack makes one tensor of many.",
    ),
    _error(
        "number_into_torch",
        r"must be Tensor, not (int|float|bool)",
        "A function of torch takes tensors, and this is a plain Python number: use Python's "
        "operators or `math` for it.",
    ),
    _error(
        "number_for_a_tensor",
        r"'(int|float|bool)' object (has no attribute|is not (subscriptable|iterable))",
        "A plain Python number is used like a tensor, whose methods it does not have: or do two "
        "arguments stand in the wrong order?",
    ),
    _error(
        "arithmetic_with_a_mask",
        r"operator, (on|with) (a|two) bool tensor",
        "A mask is of booleans: it is turned round with `~` and joined with & and |, not with - or "
        "+.",
    ),
    _error(
        "numbers_for_a_mask",
        r"only implemented on integer and Boolean|only supports boolean masks|"
        r"mask tensor can only be bool|bitwise_not|expects a boolean|condition to be a bool",
        "Numbers stand where a mask of booleans belongs: look at the order of the arguments, and "
        "at how the mask was made.",
    ),
    _error(
        "wrong_number_of_names",
        r"values to unpack",
        "There are more names on the left, or fewer, than values. A shape may have any number of "
        "batch dimensions: `*batch, n, d = x.shape`. A dict gives pairs only by `.items()`.",
    ),
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
        "ids_not_whole",
        r"(to be|scalar types?:?) Long",
        "Ids and targets are whole numbers, torch.long: leave their dtype as it came.",
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
        "reshaped_to_another_size",
        r"shape .* is invalid for input",
        "The sizes that you reshape to do not multiply to what is there: count them, with any "
        "number of batch dimensions in front, `*x.shape[:-1]`.",
    ),
    _error(
        "sizes_do_not_fit",
        r"shapes cannot be multiplied|size of tensor a|must match the (size|existing)|"
        r"expected size for first two dimensions|"
        r"not broadcastable|inconsistent tensor size|expanded size|"
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
        "truth_of_a_tensor",
        r"truth value|bool value of tensor|ambiguous",
        "`if`, `and`, `or` and `not` cannot judge a whole tensor. Whether one was given at all is "
        "asked with `is not None`; entry by entry it takes torch.where, &, | and ~.",
    ),
    _error(
        "cannot_read_one_number",
        r"converted to (Python )?scalar|only one element tensors",
        "`.item()`, `float()`, `int()` or a function of `math` met a tensor of more than one "
        "element: torch has its own functions for those.",
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
        "arguments_that_torch_cannot_read",
        r"invalid combination of arguments|argument '.*' (\(position|failed to unpack)|"
        r"argument .* must be",
        "torch cannot take these arguments: one is of the wrong type, or has to be named, as in "
        "dim=-1.",
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
        "There is no such method or attribute: look at its spelling and at what it is called on. "
        "What `forward` needs of `self`, `__init__` has to keep.",
    ),
    _error(
        "leaves_the_program",
        r"^SystemExit",
        "sys.exit, exit() or quit() has no place in a function: return the answer instead.",
    ),
)


# ValueErrors of torch and of Python; the others are the student's
OF_TORCH = re.compile(
    r"values to unpack|only one element tensors|converted to Python scalar|converted to scalar"
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


def error_slip(error: BaseException, functions: Sequence[str] = ("?",)) -> ErrorSlip | None:
    """Return the slip that an error shows, by its text.

    Args:
        error: what was raised.
        functions: those of the answer that it went through; none if the call itself failed.
    """
    inside = bool(functions)
    if isinstance(error, ValueError) and inside and not OF_TORCH.search(words_of(error)):
        public = {name for name in functions if not name.startswith("_")}
        return HANDED_ON if len(public) > 1 else REFUSED
    said = f"{type(error).__name__}: {words_of(error)}"
    fitting = [slip for slip in ERRORS if slip.pattern.search(said)]
    return next((s for s in fitting if not (inside and s.name == OTHER_SIGNATURE)), None)
