"""The errors that every function knows: what torch and Python say, and the slip behind it.

A cause is named only where the text of the error and the student's own line that failed agree.
What only one chapter knows stands in its coach, as ERRORS, and is looked for first.
"""

from __future__ import annotations

from grader.coach import card
from grader.coach.error_slips import error_like

OTHER_SIGNATURE = "other_signature"
PRODUCT = r"(?<!^)@|matmul|\bmm\(|bmm|einsum|linear|dot\("
TIMES = r"(?<!\*)\*(?!\*)"
ERRORS = (
    error_like(
        "no_cuda_here",
        r"not compiled with CUDA|No CUDA GPUs|no NVIDIA driver|without ATen_cuda",
        '"cuda" or `.cuda()` asks for a GPU wherever the inputs are, and there is none here: take '
        "the device from an input.",
        read=card("device"),
    ),
    error_like(
        "graph_used_twice",
        r"backward through the graph a second time",
        "`backward()` went through the same graph twice: compute the loss anew, from the model, in "
        "every step.",
    ),
    error_like(
        "checkpoint_that_changes_something",
        r"^CheckpointError",
        "What stands under `checkpoint` is worked out again on the way back, and it came out "
        "otherwise: it changes something as it runs, as a cache that takes rows in. Leave that "
        "outside.",
    ),
    error_like(
        "backward_of_many_numbers",
        r"implicitly created only for scalar outputs",
        "`backward()` starts at one number: take the mean or the sum first.",
    ),
    error_like(
        "finfo_of_whole_numbers",
        r"torch\.finfo\(\) requires a floating",
        "torch.finfo knows float dtypes only: `dtype.itemsize` says how many bytes a number of any "
        "dtype has.",
    ),
    error_like(
        "float_for_a_size",
        r"must be (tuple of ints|int|SymInt)\b.*(not|but got) float|'float' object cannot be "
        r"interpreted as an integer|valid indices \(got float\)",
        "A size or an index is a float here: `/` always gives a float, even where there is no "
        "remainder. Write `//`.",
    ),
    error_like(
        "one_number_for_many",
        r"converted to an index|slice indices must be integers",
        "One number is needed there, a count or an index, but it got a whole tensor: take its "
        "entries one by one, or compare with torch.arange(n).",
    ),
    error_like(
        "dict_asked_with_a_tensor",
        r"^KeyError: tensor\(",
        "A dict was indexed with a tensor, which is never one of its keys: use the plain number, "
        "`.item()` or `int()`.",
    ),
    error_like(
        "no_such_key",
        r"^KeyError: ",
        "The dict on that line has no such key.",
    ),
    error_like(
        "index_of_small_integers",
        r"dtype int\S* for index|tensors used as indices must be",
        "torch wants an index in int64 (torch.long), and this one is not: lengths may be smaller "
        "integers, `.long()` converts them.",
    ),
    error_like(
        "rows_of_different_length",
        r"expected sequence of length",
        "The rows that you put into one tensor have different lengths.",
    ),
    error_like(
        "list_asked_with_a_word",
        r"list indices must be integers or slices, not str",
        "A list was indexed with a word, which only a dict can be: are two arguments in the wrong "
        "order?",
    ),
    error_like(
        "not_in_the_list",
        r"is not in list|is not in tuple",
        "`.index` looked for something that is not there.",
    ),
    error_like(
        "nothing_returned_inside",
        r"'NoneType'|NoneType object",
        "A None was used as a value: it is an optional argument that was not given, or the result "
        "of a function that returns nothing.",
    ),
    error_like(
        "attribute_called",
        r"torch\.(device|dtype)' object is not callable",
        "`.device` and `.dtype` are no methods: write them without brackets.",
    ),
    error_like(
        "brackets_mixed_up",
        r"(Tensor|Size|str|dict|list|int|float|tuple)' object is not callable",
        "Round and square brackets are mixed up, or the name means something else: write "
        "`x.shape[-1]`, but `x.size(-1)`.",
    ),
    error_like(
        "vectors_only",
        r"1D tensors? expected",
        "torch.dot takes two vectors and nothing larger: `@` takes matrices with any number of "
        "batch dimensions.",
    ),
    error_like(
        "matrix_needed",
        r"input tensor must have at least 2 dimensions|only supported on matrices",
        "A matrix is needed on that line, but it got a vector: a dimension is missing.",
    ),
    error_like(
        "values_and_places",
        r"torch\.return_types",
        "`max` and `min` over a dimension return two things, the values and their indices: take "
        "`.values`, or use amax and amin.",
    ),
    error_like(
        "caret_for_a_power",
        r"bitwise_xor|type\(s\) for \^",
        "`^` is not a power in Python, it works on bits: a power is `**`.",
    ),
    error_like(
        "all_sizes_for_one",
        r"torch\.Size'|'torch\.Size|type Size",
        "`.shape` is all the sizes at once: pick the one that you mean, as in shape[0] or "
        "shape[-1].",
    ),
    error_like(
        "not_called",
        r"'(builtin_function_or_method|method|function|method_descriptor)'",
        "A function was used as if it were a value: call it, with round brackets.",
    ),
    error_like(
        "list_for_a_tensor",
        r"must be Tensor, not (list|tuple)|got \((list|tuple)\b|'(list|tuple)' object has no|"
        r"type\(s\) for [-+*/@]+: ('Tensor' and 'list'|'list' and 'Tensor')|multiply sequence",
        "A list was used as a tensor: torch.stack turns many tensors into one.",
    ),
    error_like(
        "tensor_for_a_list",
        r"must be tuple of Tensors, not Tensor",
        "torch.cat and torch.stack take all their tensors in one list: torch.cat([a, b], dim=...).",
    ),
    error_like(
        "number_into_torch",
        r"must be Tensor, not (int|float)",
        "A function of torch takes tensors, but this is a plain Python number: use Python's "
        "operators or `math` for it.",
    ),
    error_like(
        "layer_not_called",
        r"(type\(s\) for \S+|must be Tensor, not) .*'?(Linear|Embedding|Parameter\w+|Module\w+)\b",
        "A layer is no matrix: call it like a function, `self.w_q(x)`.",
    ),
    error_like(
        "truth_for_a_mask",
        r"'bool' object (has no attribute|is not (subscriptable|iterable))|"
        r"must be Tensor, not bool",
        "True or False is used like a tensor: where a mask is needed it has to be made first, with "
        "an entry for each query and key; or are two arguments in the wrong order?",
    ),
    error_like(
        "number_for_a_tensor",
        r"'(int|float)' object (has no attribute|is not (subscriptable|iterable))|"
        r"type '(int|float)' has no len",
        "A plain Python number is used like a tensor, whose methods it does not have: or are two "
        "arguments in the wrong order?",
    ),
    error_like(
        "arithmetic_with_a_mask",
        r"operator, (on|with) (a|two) bool tensor|not implemented for 'Bool'",
        "A mask holds booleans: invert it with `~` and join masks with & and |, not with - or +.",
    ),
    error_like(
        "numbers_for_a_mask",
        r"only implemented on integer and Boolean|only supports boolean masks|"
        r"mask tensor can only be bool|bitwise_not|expects a boolean|condition to be a bool",
        "Numbers were used as a mask, which holds booleans: look at the order of the arguments, "
        "and at how the mask was made.",
    ),
    error_like(
        "wrong_number_of_names",
        r"values to unpack",
        "There are more names on the left than values, or fewer. A shape may have any number of "
        "batch dimensions: write `*batch, n, d = x.shape`. A dict gives pairs only with "
        "`.items()`.",
        read=card("batch"),
    ),
    error_like(
        "numpy_of_a_gradient",
        r"can't call numpy\(\)|unsupported ScalarType|convert cuda|device type tensor to numpy",
        "`.numpy()` works only on the CPU and without gradients: stay in torch.",
        read=card("gradient"),
    ),
    error_like(
        "mixed_devices",
        r"on the same device|found at least two devices|indices should be either on|"
        r"cannot copy out of meta|doesn't match the device|device type",
        "Two tensors on two devices: something was made without `device=`, so it is on the CPU "
        "while the inputs are elsewhere. Give it the device of an input.",
        read=card("device"),
    ),
    error_like(
        "view_of_scattered_memory",
        r"view size is not compatible|use \.reshape",
        "`view` needs numbers that lie in order, and after a transpose they do not: use `reshape`.",
        read=card("strides"),
    ),
    error_like(
        "in_place_on_a_leaf",
        r"leaf variable that requires grad|a view of a leaf|in no_grad mode and is being modified",
        "An input was changed in place, by `+=`, `[...] =` or a method that ends in _ (a leaf is a "
        "tensor that collects gradients): work on a new tensor.",
        read=card("view"),
    ),
    error_like(
        "in_place_breaks_the_gradient",
        r"modified by an inplace operation",
        "A tensor that the backward pass needs was changed in place after it was used: make a new "
        "one instead of `+=`, `[...] =` or a method that ends in _.",
        read=card("view"),
    ),
    error_like(
        "mean_of_whole_numbers",
        r"could not infer output dtype|only support floating point",
        "You asked for a mean or a deviation of whole numbers: turn them into floats first.",
    ),
    error_like(
        "mixed_dtypes",
        r"same dtype|expected scalar type|dtypes? .*(differ|match)|but got .*(half|float|double|"
        r"bfloat16|long)|must match .*dtype|expected .* dtype|not implemented for",
        "Two dtypes met: a constant or a parameter does not have the input's dtype. Make it with "
        "`dtype=` of the input.",
        read=card("dtype"),
    ),
    error_like(
        "einsum_counts_dimensions",
        r"subscripts in the equation|einsum\(\)",
        "The einsum does not fit the dimensions: count its letters, and use `...` for any number "
        "of batch dimensions.",
    ),
    error_like(
        "one_batch_dimension_only",
        r"batch1 must|batch2 must|must be a 3D tensor|self must be a matrix|mat2 must be a matrix",
        "torch.bmm takes just one batch dimension and torch.mm none: torch.matmul, or @, takes any "
        "number.",
        read=card("batch"),
    ),
    error_like(
        "nothing_to_put_together",
        r"non-empty TensorList|non-empty list|need at least one",
        "With a size of 0 there is nothing to stack or cat: return an empty result there.",
    ),
    error_like(
        "first_of_nothing",
        r"index 0 is out of bounds.*with size 0|list index out of range|max\(\) arg is an empty|"
        r"zero-size|non-zero size|numel\(\) == 0|with no identity",
        "Where there is nothing, there is no first or largest entry: treat a size of 0 separately.",
    ),
    error_like(
        "entry_behind_the_last",
        r"index -?\d+ is out of bounds|(list|tuple|string) index out of range",
        "There is no such entry: they are counted from 0, so the last one is the size - 1. Look at "
        "how far the loop goes, and along which dimension.",
        beside=r"shape|size",
    ),
    error_like(
        "reshaped_to_another_size",
        r"shape .* is invalid for input|don't multiply up to the size",
        "The sizes that you reshape to do not multiply to the number of entries: check them, with "
        "any number of batch dimensions in front, `*x.shape[:-1]`.",
    ),
    error_like(
        "fewer_sizes_than_dimensions",
        r"Number of dimensions of repeat dims|the number of sizes provided|desired ordering of "
        r"dimensions",
        "`expand`, `repeat` and `permute` need a size or a place for each dimension that the "
        "tensor has. Add a new dimension before, with unsqueeze or [None].",
    ),
    error_like(
        "entry_by_entry",
        r"size of tensor a",
        "`*` multiplies entry by entry, and these sizes do not line up for that. The matrix "
        "product is `@`.",
        line=TIMES,
        beside=PRODUCT,
        read=card("broadcasting"),
    ),
    error_like(
        "sizes_do_not_line_up",
        r"size of tensor a",
        "Entry by entry the sizes have to line up, counted from the right: write the shapes of "
        "both sides beside it. A dimension of 1 is likely missing, [:, None] or keepdim=True.",
        beside=PRODUCT,
        read=card("broadcasting"),
    ),
    error_like(
        "sizes_do_not_fit",
        r"shapes cannot be multiplied|size of tensor a|must match the (size|existing)|"
        r"expected size for first two dimensions|sizes of tensors must match|"
        r"not broadcastable|inconsistent tensor size|expanded size|core dimension|not aligned|"
        r"broadcast|1D tensors? expected|must be (1-D|2-D|at least|batches of)|batch2|mat2|vec",
        "The sizes do not fit together: write the shape of each factor beside its line; a "
        "transpose or a dimension is likely wrong.",
    ),
    error_like(
        "size_that_is_not_there",
        r"tuple index out of range",
        "You asked for a size that this tensor does not have, such as shape[2] of a matrix: count "
        "from the end, shape[-1] and shape[-2], so that any number of batch dimensions may come "
        "first.",
        line=r"shape|size",
        read=card("batch"),
    ),
    error_like(
        "number_for_a_device",
        r"Cannot access accelerator device|invalid device ordinal",
        "A plain number was passed as a device: look at the order of the arguments, or use the "
        "name, device=device.",
    ),
    error_like(
        "dimension_out_of_range",
        r"dimension out of range|dimension specified as|only tensors up to|too many indices",
        "You used a dimension that this tensor does not have: count from the end (-1, -2), so that "
        "any number of batch dimensions may come first.",
        read=card("batch"),
    ),
    error_like(
        "forward_is_missing",
        r'missing the required "forward"',
        "The module has no method called `forward`: is it spelled otherwise, or indented as if it "
        "stood outside the class?",
    ),
    error_like(
        "not_on_the_graph",
        r"does not require grad|element 0 of tensors",
        "There is no gradient to compute: `.detach()`, `.data`, torch.no_grad or a new tensor cut "
        "it off.",
        read=card("gradient"),
    ),
    error_like(
        "truth_of_a_tensor",
        r"truth value of|bool value of tensor|boolean value of tensor",
        "`if`, `and`, `or` and `not` cannot be used on a whole tensor. To ask whether one was "
        "given at all, write `is not None`; entry by entry, use torch.where, &, | and ~.",
    ),
    error_like(
        "cannot_read_one_number",
        r"converted to (Python )?scalar|only one element tensors",
        "`.item()`, `float()`, `int()` or a function of `math` got a tensor of more than one "
        "element: torch has its own functions for those.",
    ),
    error_like(
        "divided_by_zero",
        r"ZeroDivisionError",
        "A plain number was divided by 0: where a size or a count may be 0, check it first.",
    ),
    error_like(
        "endless_recursion",
        r"maximum recursion depth",
        "The function calls itself without end.",
    ),
    error_like(
        OTHER_SIGNATURE,
        r"positional argument|unexpected keyword|required (positional|keyword)|missing \d+",
        "The function takes other arguments than the stub's: keep the signature of the stub.",
    ),
    error_like(
        "wrong_arguments_inside",
        r"positional argument|unexpected keyword|required (positional|keyword)|missing \d+",
        "A call on that line passes other arguments than the function takes.",
    ),
    error_like(
        "arguments_that_torch_cannot_read",
        r"invalid combination of arguments|argument '.*' (\(position|failed to unpack)|"
        r"argument .* must be",
        "torch cannot take these arguments: one has the wrong type, or has to be passed by name, "
        "as in dim=-1.",
    ),
    error_like(
        "assertion",
        r"^AssertionError",
        "An `assert` of yours does not hold for sizes that fit.",
        line=r"^assert\b",
    ),
    error_like(
        "assigned_too_late",
        r"cannot access local variable|referenced before assignment",
        "The function assigns this name somewhere, so Python takes it for one of its own, and on "
        "the way that was taken it has no value yet: assign it on every way, before it is used. If "
        "you meant a function of that name, call your own value something else.",
    ),
    error_like(
        "unknown_name",
        r"name '.*' is not defined",
        "You used a name that is not defined: there is a typo, an import is missing at the top, "
        "or, in a method, `self.` is missing before it.",
    ),
    error_like(
        "unknown_attribute",
        r"has no attribute",
        "There is no such method or attribute: check its spelling and the object before the dot. "
        "Whatever `forward` uses of `self`, `__init__` has to set.",
    ),
    error_like(
        "leaves_the_program",
        r"^SystemExit",
        "sys.exit, exit() or quit() has no place in a function: return the answer instead.",
    ),
)
