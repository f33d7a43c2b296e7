"""Slips that every function knows: recognised by the error that is raised, and by its line.

A cause is named only where the text of the error and the student's own line that failed agree.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass

from grader.answers.trouble import words_of


@dataclass(frozen=True)
class ErrorSlip:
    """A slip told by the error that it raises.

    Attributes:
        name: as the report names it.
        pattern: fits the type and the text of the error.
        says: the sentence.
        line: fits the line that failed, if that matters.
        beside: fits no line of this slip.
    """

    name: str
    pattern: re.Pattern[str]
    says: str
    line: re.Pattern[str] | None = None
    beside: re.Pattern[str] | None = None

    def fits(self, said: str, line: str) -> bool:
        """Tell whether an error, and the line that failed, show this slip."""
        if not self.pattern.search(said):
            return False
        if self.line is not None and not self.line.search(line):
            return False
        return self.beside is None or not self.beside.search(line)


def _error(
    name: str, pattern: str, says: str, line: str | None = None, beside: str | None = None
) -> ErrorSlip:
    return ErrorSlip(
        name,
        re.compile(pattern, re.IGNORECASE),
        says,
        None if line is None else re.compile(line),
        None if beside is None else re.compile(beside),
    )


OTHER_SIGNATURE = "other_signature"
PRODUCT = r"(?<!^)@|matmul|\bmm\(|bmm|einsum|linear|dot\("
TIMES = r"(?<!\*)\*(?!\*)"
ERRORS = (
    _error(
        "no_cuda_here",
        r"not compiled with CUDA|No CUDA GPUs|no NVIDIA driver|without ATen_cuda",
        '"cuda" or `.cuda()` asks for a GPU whatever the inputs are on, and here is none: take the '
        "device from an input.",
    ),
    _error(
        "loss_made_with_its_inputs",
        r"Boolean value of Tensor|CrossEntropyLoss",
        "nn.CrossEntropyLoss is a class: it is made first and called then, "
        "nn.CrossEntropyLoss()(logits, targets). F.cross_entropy(logits, targets) does it at once.",
        line=r"\w+Loss\(\s*[^)\s]",
    ),
    _error(
        "loss_arguments_swapped",
        r"log_softmax.*not implemented for 'Long'|class probabilities, got Long",
        "cross_entropy takes the logits first and the targets second.",
    ),
    _error(
        "targets_are_floats",
        r"expected target dtype to be Long",
        "The targets of cross_entropy are ids, torch.long: here they are floats.",
    ),
    _error(
        "loss_of_another_batch",
        r"to match target batch_size|Expected target size",
        "cross_entropy wants one row of logits for each target, [batch, vocab_size] and [batch]: "
        "here their numbers differ.",
    ),
    _error(
        "targets_with_a_dimension_too_many",
        r"0D or 1D target tensor expected",
        "The targets of cross_entropy have a dimension too many: one id for each row of logits, "
        "[batch]. Or do the ids stand where the targets belong?",
    ),
    _error(
        "nothing_to_train",
        r"optimizer got an empty parameter list",
        "The optimiser got no weights: hand it model.parameters(), and a generator can be gone "
        "through only once.",
    ),
    _error(
        "weights_for_the_optimiser",
        r"params argument given to the optimizer",
        "An optimiser takes all weights at once, model.parameters().",
    ),
    _error(
        "graph_used_twice",
        r"backward through the graph a second time",
        "One graph was gone back through twice: the loss has to be computed anew, from the model, "
        "in every step.",
    ),
    _error(
        "backward_of_many_numbers",
        r"implicitly created only for scalar outputs",
        "`backward()` starts at one number: take the mean or the sum first.",
    ),
    _error(
        "float_for_a_size",
        r"must be (tuple of ints|int|SymInt)\b.*(not|but got) float|'float' object cannot be "
        r"interpreted as an integer|valid indices \(got float\)",
        "A size or an index is a float here: `/` gives a float also where it comes out even. Write "
        "`//`.",
    ),
    _error(
        "one_number_for_many",
        r"converted to an index|slice indices must be integers",
        "One number is needed there, a count or a place, and a whole tensor came: take its entries "
        "one by one, or compare with torch.arange(n).",
    ),
    _error(
        "words_for_ids",
        r"too many dimensions 'str'",
        "A tensor cannot hold words: look up each word's id in the vocabulary first.",
    ),
    _error(
        "list_of_words_to_the_model",
        r"argument 'indices'.*must be Tensor, not (list|str)",
        "The model was asked with a list: it wants a tensor of ids, [batch, n].",
    ),
    _error(
        "ids_without_a_batch",
        r"the model is asked with ids \[batch, n\]",
        "The model takes a batch: one sequence is ids[None], [1, n].",
    ),
    _error(
        "dict_asked_with_a_tensor",
        r"^KeyError: tensor\(",
        "A dict was asked with a tensor, which is no key of it whatever number it holds: take the "
        "plain number, `.item()` or `int()`.",
    ),
    _error(
        "no_such_key",
        r"^KeyError: ",
        "The dict on that line has no such key. The keys of a vocabulary are words, its values "
        "ids: whoever looks for the word of an id turns it round first.",
    ),
    _error(
        "index_of_small_integers",
        r"dtype int\S* for index|tensors used as indices must be",
        "An index is int64 (torch.long) for torch, this one is not: lengths may come as smaller "
        "integers, `.long()` widens them.",
    ),
    _error(
        "rows_of_different_length",
        r"expected sequence of length",
        "The rows that were put into one tensor have different lengths.",
    ),
    _error(
        "id_out_of_range",
        r"index out of range in self|Target \d+ is out of bounds",
        "An id is as large as the table, or larger: the embedding and the head have one row for "
        "each word of the vocabulary, counted from 0.",
    ),
    _error(
        "list_asked_with_a_word",
        r"list indices must be integers or slices, not str",
        "A list was asked with a word, as only a dict can be: do two arguments stand in the wrong "
        "order?",
    ),
    _error(
        "model_for_its_parts",
        r"'(\w*Model|Caller|\w*Attention)' (object (is not|cannot be)|has no len)",
        "The model itself stands where a list, a dict or a number belongs: it is called with ids, "
        "and its weights are model.parameters().",
    ),
    _error(
        "not_in_the_list",
        r"is not in list|is not in tuple",
        "`.index` was asked for something that is not there.",
    ),
    _error(
        "nothing_returned_inside",
        r"'NoneType'|NoneType object",
        "A None was used as a value: an optional argument that was not given, or what came from a "
        "function that returns nothing.",
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
        r"input tensor must have at least 2 dimensions|only supported on matrices",
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
        r"must be Tensor, not (list|tuple)|got \((list|tuple)\b|'(list|tuple)' object has no|"
        r"type\(s\) for [-+*/@]+: ('Tensor' and 'list'|'list' and 'Tensor')|multiply sequence",
        "A list stands where a tensor belongs: torch.stack makes one tensor of many.",
    ),
    _error(
        "tensor_for_a_list",
        r"must be tuple of Tensors, not Tensor",
        "torch.cat and torch.stack take all their tensors in one list: torch.cat([a, b], dim=...).",
    ),
    _error(
        "number_into_torch",
        r"must be Tensor, not (int|float|bool)",
        "A function of torch takes tensors, and this is a plain Python number: use Python's "
        "operators or `math` for it.",
    ),
    _error(
        "number_for_a_tensor",
        r"'(int|float|bool)' object (has no attribute|is not (subscriptable|iterable))|"
        r"type '(int|float)' has no len",
        "A plain Python number is used like a tensor, whose methods it does not have: or do two "
        "arguments stand in the wrong order?",
    ),
    _error(
        "arithmetic_with_a_mask",
        r"operator, (on|with) (a|two) bool tensor|not implemented for 'Bool'",
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
        "An input was changed in place, by `+=`, `[...] =` or a method that ends in _ (a leaf is a "
        "tensor that collects gradients): work on a new tensor.",
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
        "mean_of_whole_numbers",
        r"could not infer output dtype|only support floating point",
        "A mean or a deviation of whole numbers was asked for: turn them into floats first.",
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
        "first_of_nothing",
        r"index 0 is out of bounds.*with size 0|list index out of range|max\(\) arg is an empty|"
        r"zero-size|numel\(\) == 0|with no identity",
        "There is no first or largest one where there is nothing: a size of 0 needs an answer of "
        "its own.",
    ),
    _error(
        "reshaped_to_another_size",
        r"shape .* is invalid for input|don't multiply up to the size",
        "The sizes that you reshape to do not multiply to what is there: count them, with any "
        "number of batch dimensions in front, `*x.shape[:-1]`.",
    ),
    _error(
        "fewer_sizes_than_dimensions",
        r"Number of dimensions of repeat dims|the number of sizes provided|desired ordering of "
        r"dimensions",
        "`expand`, `repeat` and `permute` want a size or a place for each dimension that the "
        "tensor has; a new dimension comes first, by unsqueeze or [None].",
    ),
    _error(
        "entry_by_entry",
        r"size of tensor a",
        "`*` multiplies entry by entry, and these sizes do not line up for that. A product of "
        "matrices is `@`.",
        line=TIMES,
        beside=PRODUCT,
    ),
    _error(
        "sizes_do_not_line_up",
        r"size of tensor a",
        "Entry by entry the sizes have to line up, counted from the right: write the shapes of "
        "both sides beside it. A dimension of 1 is likely missing, [:, None] or keepdim=True.",
        beside=PRODUCT,
    ),
    _error(
        "sizes_do_not_fit",
        r"shapes cannot be multiplied|size of tensor a|must match the (size|existing)|"
        r"expected size for first two dimensions|sizes of tensors must match|"
        r"not broadcastable|inconsistent tensor size|expanded size|core dimension|not aligned|"
        r"broadcast|1D tensors? expected|must be (1-D|2-D|at least|batches of)|batch2|mat2|vec",
        "The sizes do not fit together: write the shape of each factor beside its line; a "
        "transpose or a dimension is likely wrong.",
    ),
    _error(
        "size_that_is_not_there",
        r"tuple index out of range",
        "A size was asked for that this tensor does not have, as shape[2] of a matrix: count from "
        "the end, shape[-1] and shape[-2], so that any number of batch dimensions may stand in "
        "front.",
        line=r"shape|size",
    ),
    _error(
        "number_for_a_device",
        r"Cannot access accelerator device|invalid device ordinal",
        "A plain number stands where a device belongs: look at the order of the arguments, or name "
        "it, device=device.",
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
        r"truth value of|bool value of tensor|boolean value of tensor",
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
        "divided_by_zero",
        r"ZeroDivisionError",
        "A plain number was divided by 0: where a size or a count may be 0, look at it first.",
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
        line=r"^assert\b",
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


REFUSED = ErrorSlip(
    "refuses_what_fits",
    re.compile("^ValueError"),
    "You refuse what is allowed: look at the condition before the `raise`, what it compares.",
)
HANDED_ON = ErrorSlip(
    "hands_on_a_misfit",
    re.compile("^ValueError"),
    "A function that this one calls refuses what it is handed: compare the arguments of that call, "
    "their order and their shapes, with what its stub asks for.",
)


def error_slip(
    error: BaseException, frames: Sequence[traceback.FrameSummary] | None = None
) -> ErrorSlip | None:
    """Return the slip that an error shows, by its text and by the line that failed.

    Args:
        error: what was raised.
        frames: those of the answer's own that it went through; none if the call itself failed;
            None if they are not known.
    """
    inside = frames is None or bool(frames)
    line = (frames[-1].line or "") if frames else ""
    if isinstance(error, ValueError) and line.startswith("raise"):
        public = {
            (frame.filename, frame.name)
            for frame in frames or ()
            if not frame.name.startswith(("_", "<"))
        }
        return HANDED_ON if len(public) > 1 else REFUSED
    said = f"{type(error).__name__}: {words_of(error)}"
    fitting = [slip for slip in ERRORS if slip.fits(said, line)]
    return next((s for s in fitting if not (inside and s.name == OTHER_SIGNATURE)), None)
