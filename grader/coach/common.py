"""Slips that every function knows: recognised by the kind of difference, not by the values.

What only one chapter knows stands in its coach, as FINDINGS, and is looked for first.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from grader.coach import card, declared
from grader.suite.compare import Finding


@dataclass(frozen=True)
class Common:
    """A slip told by the kind of finding.

    Attributes:
        name: as the report names it.
        fits: whether a finding shows this slip.
        says: the sentence; `{label}` is filled in.
        read: where to read on, if a card helps.
    """

    name: str
    fits: Callable[[Finding], bool]
    says: str
    read: str = ""


def _type(*types: type) -> Callable[[Finding], bool]:
    return lambda found: found.kind == "type" and isinstance(found.actual, types)


def _nothing(found: Finding) -> bool:
    return found.kind in ("type", "built") and found.actual is None


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


def _of_an_earlier_call(found: Finding) -> bool:
    return found.kind in ("value", "plain") and found.is_later


def _nan_gradient(found: Finding) -> bool:
    return (
        found.kind == "value" and found.is_gradient and not bool(torch.isfinite(found.actual).all())
    )


COMMON = (
    Common(
        "kept_from_an_earlier_call",
        _of_an_earlier_call,
        "An earlier call was right, this one is not: something is kept between calls. Compute "
        "everything anew from the arguments of each call.",
    ),
    Common(
        "returns_nothing",
        _nothing,
        "The function returned None: here it ended without reaching a `return`, or with "
        "`return None`. A `return` inside an `if` or a loop may be skipped.",
    ),
    Common(
        "returns_numpy",
        _numpy,
        "A NumPy array came back: stay in torch. NumPy has neither gradients nor GPUs.",
        read=card("gradient"),
    ),
    Common(
        "shape_of_nothing_lost",
        lambda found: (
            found.kind == "shape" and found.actual.numel() == 0 and found.expected.numel() == 0
        ),
        "There is nothing in it, and still it has a shape: make it with the sizes of the input, "
        "such as `torch.zeros_like(x)`.",
    ),
    Common(
        "sum_of_nothing",
        lambda found: found.kind == "type" and type(found.actual) is int and found.actual == 0,
        "The number 0 came back: your sum starts at 0 and had nothing to add. Start with zeros of "
        "the right shape.",
    ),
    Common(
        "returns_plain_number",
        _type(bool, int, float, complex),
        "A plain Python number came back, and a tensor has to: `.item()`, `float()` and `int()` "
        "make one of it, and cut it off from its gradient.",
        read=card("gradient"),
    ),
    Common(
        "returns_several",
        _type(tuple),
        "A tuple came back: there is too much after `return`, or one comma too many.",
    ),
    Common(
        "returns_list",
        _type(list),
        "A list came back: put tensors together with torch.stack or torch.cat, plain numbers with "
        "torch.tensor.",
    ),
    Common(
        "returns_one_of_several",
        lambda found: found.kind == "built" and isinstance(found.actual, torch.Tensor),
        "One tensor came back where the stub promises several together: return all of them, built "
        "as it says under Returns.",
    ),
    Common(
        "built_otherwise",
        _kind("built"),
        "What comes back is put together in another way than the stub says: see under Returns what "
        "it holds, and in which order.",
    ),
    Common(
        "returns_function",
        lambda found: found.kind == "type" and type(found.actual).__name__ in FUNCTIONS,
        "A function came back, not its result: call it, with its arguments in round brackets.",
    ),
    Common(
        "not_boolean",
        lambda found: found.kind == "dtype" and found.expected.dtype == torch.bool,
        "This is to be boolean, True or False: compare, or use dtype=torch.bool.",
    ),
    Common(
        "not_whole_numbers",
        lambda found: found.kind == "dtype" and found.expected.dtype == torch.int64,
        "Indices are int64 (torch.long): give the tensor that dtype.",
    ),
    Common(
        "becomes_float32",
        _dtype(torch.float32),
        "The output has become float32: by a tensor made without `dtype=`, a `.float()`, or a "
        "dtype written into the code. Take the dtype from the input; or, where steps have to be "
        "in float32, bring the result back at the end, .to(x.dtype).",
        read=card("dtype"),
    ),
    Common(
        "becomes_float64",
        _dtype(torch.float64),
        "The output is float64, which nobody asked for: bring it to the dtype that the stub names "
        "at the end.",
        read=card("dtype"),
    ),
    Common(
        "wrong_dtype",
        _kind("dtype"),
        "The dtype changed on the way: the output must have the dtype of the input.",
        read=card("dtype"),
    ),
    Common(
        "constant_made_on_the_cpu",
        _device("made", "brought", "constant", "left"),
        "torch makes a tensor on the CPU unless `device=` says otherwise. On the CPU nobody "
        "notices; on a GPU the first operation that needs both stops.",
        read=card("device"),
    ),
    Common(
        "tensor_left_behind",
        _device("attribute"),
        "`.to(device)` moves the parameters and the buffers of a module, and nothing else.",
        read=card("device"),
    ),
    Common(
        "moved_to_the_cpu",
        _device("moved", "left moved", "round", "model"),
        "`.cpu()` is for numbers that are read, printed or saved at the very end: whatever you "
        "compute with stays on the device of the inputs.",
        read=card("device"),
    ),
    Common(
        "hard_coded_cuda",
        _device("written", "left written", "unasked", "model written"),
        "Not everybody has a GPU, and some people have several: write no device into the code, "
        "read it from an input.",
        read=card("device"),
    ),
    Common(
        "numpy_on_a_gpu",
        _device("numpy"),
        "NumPy works on the CPU only: stay in torch, so that your code runs anywhere.",
        read=card("device"),
    ),
    Common(
        "generator_on_another_device",
        _device("generator"),
        "Random numbers are drawn on the device of their generator, and `device=` has to name that "
        "device, too.",
    ),
    Common(
        "default_device_changed",
        _device("default"),
        "The default device is a switch for the whole program: from now on other functions, and "
        "whoever calls yours, make their tensors elsewhere.",
    ),
    Common(
        "refuses_the_gpu",
        _device("refuses"),
        "No device is special: the same call must work on all of them.",
    ),
    Common(
        "wrong_device",
        _kind("device"),
        "The result is on another device than the inputs: something was made or moved without "
        "`device=` of an input.",
        read=card("device"),
    ),
    Common(
        "gradient_cut",
        _kind("no gradient", "any"),
        "No gradient reaches the inputs: it is cut off by `.detach()`, `.data`, `.item()`, "
        "torch.no_grad, a new torch.tensor(...) or NumPy.",
        read=card("gradient"),
    ),
    Common(
        "gradient_cut_for_one_input",
        _kind("no gradient", "one"),
        "No gradient reaches {label}, though the values are right: it is cut off, by `.detach()`, "
        "`.data`, torch.no_grad, or by a new tensor or nn.Parameter made from it.",
        read=card("gradient"),
    ),
    Common(
        "gradient_not_finite",
        _nan_gradient,
        "The gradient is NaN or infinite although the output is right: a 0 / 0 or -inf - -inf was "
        "repaired after it happened. Keep it from happening.",
    ),
    Common(
        "module_changes_its_dtype",
        lambda found: (
            found.kind == "changed"
            and isinstance(found.actual, torch.Tensor)
            and found.actual.dtype != found.expected.dtype
        ),
        "It has another dtype after the call: on a module `.half()`, `.float()`, `.double()` and "
        "`.to(dtype)` change the module itself, for everybody who uses it.",
        read=card("dtype"),
    ),
    Common(
        "leaves_a_switch_set",
        _kind("switched"),
        "It is a switch for the whole program, and stays set after the call: leave it out, or set "
        "it with a `with` that ends, such as `with torch.no_grad():`.",
    ),
    Common(
        "touches_gradients_of_its_input",
        lambda found: found.kind == "changed" and found.is_gradient,
        "The input belongs to the caller, and so does what it says of gradients: work on "
        "`x.detach().clone()` if you need a tensor of your own.",
    ),
    Common(
        "changes_its_input",
        _kind("changed"),
        "The call changed its input in place (`+=`, `[...] =` or a method that ends in _): the "
        "caller still needs it; work on a new tensor.",
        read=card("view"),
    ),
    Common(
        "calls_ready_made",
        _kind("forbidden"),
        "This is what the chapter asks you to build: write it with the parts under *May be used*.",
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
        "The error was returned, not raised: write `raise`, not `return`.",
    ),
    Common(
        "misfit_not_refused",
        _kind("not refused"),
        "An input that does not fit was accepted in silence: check what the first line names "
        "before you compute anything, and raise a ValueError.",
    ),
    Common(
        "refusal_names_no_sizes",
        _kind("refused badly", "sizes"),
        "It is refused, but the message does not say which sizes do not fit: put the shapes into "
        "it.",
    ),
    Common(
        "refused_with_another_error",
        _kind("refused badly", "type"),
        "It does stop, but with another error: check the sizes before you compute, and raise a "
        "ValueError whose message names them.",
    ),
)


RANDOM = Common(
    "random",
    lambda _: False,  # told by running the check twice
    "Two equal calls gave different values: something random is involved, such as dropout, "
    "torch.rand, or the weights of a layer that is made inside.",
)
TOGETHER = Common(
    "mixes_the_sequences",
    lambda _: False,  # told by calling it with each sequence alone
    "Each sequence alone is right, but in a batch it is not: the batch gets mixed up with another "
    "dimension. Count dimensions from the end (-1, -2), and keep the sequences apart.",
    read=card("batch"),
)
OTHER_ORDER = Common(
    "arguments_in_another_order",
    lambda _: False,  # told by calling it with the arguments' names
    "With the arguments by name it is right: in your `def` they are in another order than in the "
    "stub.",
)
# by the rule that is broken, where the checks of plain values have passed
NARROWED = {
    "sizes": Common(
        "hangs_on_the_sizes",
        lambda _: False,
        "At other sizes it is right: here two sizes are equal and get confused, or a size of 1 is "
        "dropped or repeated in silence.",
        read=card("broadcasting"),
    ),
    "batch": Common(
        "hangs_on_the_batch",
        lambda _: False,
        "Without a batch it is right: a dimension is counted from the front, or a batch dimension "
        "is mistaken for another one. Count from the end (-1, -2).",
        read=card("batch"),
    ),
    "dtype": Common(
        "hangs_on_the_dtype",
        lambda _: False,
        "In float32 it is right: in this dtype a step loses something, such as a number that is "
        "too large, or digits in a long sum.",
        read=card("dtype"),
    ),
    "lengths": Common(
        "hangs_on_the_integers",
        lambda _: False,
        "With lengths in int64 it is right: a smaller dtype leaves its range, as uint8 does below "
        "0. Convert them with `.long()` first.",
    ),
    "strides": Common(
        "hangs_on_the_memory",
        lambda _: False,
        "With numbers that lie in order it is right: a step depends on how they lie in memory, as "
        "`view` and `as_strided` do.",
        read=card("strides"),
    ),
}


def common_slip(found: Finding, stem: str = "") -> Common | None:
    """Return the common slip that a finding shows; a chapter may know some of its own."""
    known = (*declared(stem, "FINDINGS"), *COMMON)
    return next((slip for slip in known if slip.fits(found)), None)


def fill(says: str, found: Finding) -> str:
    """Put the finding's label into a sentence."""
    return says.replace("{label}", found.label)
