"""Slips that every function knows: recognised by the kind of difference, not by the values."""

from __future__ import annotations

import re
from collections.abc import Callable
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


def _device(*mistakes: str) -> Callable[[Finding], bool]:
    return lambda found: found.kind == "device" and found.actual in mistakes


FUNCTIONS = ("function", "builtin_function_or_method", "method", "method_descriptor")


def _is_error(came: object) -> bool:
    # by its type's name: from another process comes no more, and to write it out may take for ever
    return type(came).__name__.endswith(("Error", "Exception"))


LATER_CALL = re.compile(r"^the \w+ of a (second|third)")


def _of_an_earlier_call(found: Finding) -> bool:
    return found.kind == "value" and bool(LATER_CALL.match(found.label))


def _nan_gradient(found: Finding) -> bool:
    return (
        found.kind == "value"
        and found.label.startswith("the gradient")
        and not bool(torch.isfinite(found.actual).all())
    )


COMMON = (
    Common(
        "kept_from_an_earlier_call",
        _of_an_earlier_call,
        "An earlier call came out right, this one did not: something is kept in between. Work all "
        "of it out anew from the arguments of each call.",
    ),
    Common(
        "returns_nothing",
        _type(type(None)),
        "Nothing came back: on this way through, the function ends without `return`; one that "
        "stands in an `if` or a loop serves no other way.",
    ),
    Common(
        "returns_numpy",
        _numpy,
        "A NumPy array came back: stay in torch, NumPy knows neither gradients nor the GPU.",
    ),
    Common(
        "sum_of_nothing",
        lambda found: found.kind == "type" and type(found.actual) is int and found.actual == 0,
        "The number 0 came back: a sum that starts at 0 and got nothing to add. Start with zeros "
        "of the right shape.",
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
        "A tuple came back: more than was asked for after `return`, or a comma too many.",
    ),
    Common(
        "returns_words",
        lambda found: _type(list)(found) and any(isinstance(one, str) for one in found.actual),
        "Words came back where numbers are asked for: look each one up in the vocabulary.",
    ),
    Common(
        "returns_list",
        _type(list),
        "A list came back: put tensors together with torch.stack or torch.cat, plain numbers with "
        "torch.tensor.",
    ),
    Common(
        "returns_function",
        lambda found: found.kind == "type" and type(found.actual).__name__ in FUNCTIONS,
        "A function came back, not what it gives: call it, with its arguments in brackets.",
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
        "The output has become float32: a tensor that was made without `dtype=`, a `.float()` or a "
        "dtype that is written out has decided it. Take the dtype from the input.",
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
        "constant_made_on_the_cpu",
        _device("made", "brought", "constant", "left"),
        "torch makes a tensor on the CPU unless `device=` says otherwise. On the CPU nobody "
        "notices; on a GPU the first operation that needs both stops.",
    ),
    Common(
        "tensor_left_behind",
        _device("attribute"),
        "`.to(device)` moves the parameters and the buffers of a module, and nothing else that it "
        "keeps.",
    ),
    Common(
        "moved_to_the_cpu",
        _device("moved", "left moved", "round", "model"),
        "`.cpu()` is for numbers that are read, printed or saved at the very end: what is computed "
        "with stays on the device of the inputs.",
    ),
    Common(
        "hard_coded_cuda",
        _device("written", "left written", "unasked", "model written"),
        "Not everybody has a GPU, and some have several: no device is written out, it is read off "
        "an input.",
    ),
    Common(
        "numpy_on_a_gpu",
        _device("numpy"),
        "NumPy works on the CPU alone: what is to run anywhere stays in torch.",
    ),
    Common(
        "generator_on_another_device",
        _device("generator"),
        "Random numbers are drawn where their generator is, and `device=` has to say so as well.",
    ),
    Common(
        "default_device_changed",
        _device("default"),
        "The default device is a switch for the whole program: other functions, and whoever calls "
        "yours, find their tensors elsewhere from now on.",
    ),
    Common(
        "refuses_the_gpu",
        _device("refuses"),
        "The contract knows no device: the same call must work on all of them.",
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
        "No gradient reaches {label}, though the values are right: it is cut from the graph, by "
        "`.detach()`, `.data`, torch.no_grad, or by a new tensor or nn.Parameter made of it.",
    ),
    Common(
        "gradient_not_finite",
        _nan_gradient,
        "The gradient is NaN or infinite although the output is right: a division 0 / 0 or "
        "-inf - -inf was mended after it happened. Keep it from happening.",
    ),
    Common(
        "module_changes_its_dtype",
        lambda found: (
            found.kind == "changed"
            and isinstance(found.actual, torch.Tensor)
            and found.actual.dtype != found.expected.dtype
        ),
        "It has another dtype after the call: on a module `.half()`, `.float()`, `.double()` and "
        "`.to(dtype)` change the module itself, for everybody who holds it.",
    ),
    Common(
        "changes_its_input",
        _kind("changed"),
        "The call changed its input in place (`+=`, `[...] =` or a method that ends in _): the "
        "caller still needs it; work on a new tensor.",
    ),
    Common(
        "calls_ready_made",
        _kind("forbidden"),
        "This is what the chapter asks you to build: write it from the parts under *May be used*.",
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
        "error_returned",
        lambda found: found.kind == "not refused" and _is_error(found.actual),
        "The error was made and given back, not raised: it is `raise`, not `return`.",
    ),
    Common(
        "misfit_not_refused",
        _kind("not refused"),
        "What does not fit went through in silence: compare the sizes first and raise ValueError.",
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


RANDOM = Common(
    "random",
    lambda _: False,  # told by running the check twice
    "Two equal calls gave different values: something random has a part in it, such as dropout, "
    "torch.rand, or the weights of a layer that is made inside.",
)
TOGETHER = Common(
    "mixes_the_sequences",
    lambda _: False,  # told by calling it with each sequence alone
    "Each sequence alone comes out right, and in a batch it does not: the batch gets mixed up with "
    "another dimension. Count dimensions from the end (-1, -2), and keep the sequences apart.",
)
OTHER_ORDER = Common(
    "arguments_in_another_order",
    lambda _: False,  # told by calling it with the arguments' names
    "With the arguments by name it comes out right: in your `def` they stand in another order than "
    "in the stub.",
)
# by the rule that is broken, where the checks of plain values have passed
NARROWED = {
    "sizes": Common(
        "hangs_on_the_sizes",
        lambda _: False,
        "At other sizes it comes out right: here something is found by its size, where two are "
        "equal, or a size of 1 is taken away or stretched in silence.",
    ),
    "batch": Common(
        "hangs_on_the_batch",
        lambda _: False,
        "Without a batch it comes out right: a dimension is counted from the front, or one of the "
        "batch is taken for another. Count from the end (-1, -2).",
    ),
    "dtype": Common(
        "hangs_on_the_dtype",
        lambda _: False,
        "In float32 it comes out right: in this dtype a step loses what it needs, such as a large "
        "number, or digits in a long sum.",
    ),
    "lengths": Common(
        "hangs_on_the_integers",
        lambda _: False,
        "With lengths in int64 it comes out right: a small dtype leaves its range, as uint8 does "
        "below 0. `.long()` widens them first.",
    ),
    "strides": Common(
        "hangs_on_the_memory",
        lambda _: False,
        "With numbers that lie in order it comes out right: a step takes them as they lie in "
        "memory, as `view` and `as_strided` do.",
    ),
}


def common_slip(found: Finding) -> Common | None:
    """Return the common slip that a finding shows."""
    return next((slip for slip in COMMON if slip.fits(found)), None)


def fill(says: str, found: Finding) -> str:
    """Put the finding's label into a sentence."""
    return says.replace("{label}", found.label)
