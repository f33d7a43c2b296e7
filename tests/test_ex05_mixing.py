"""Chapter 5: linear combinations, attention, self-attention and cross-attention."""

import torch
from torch.nn.functional import scaled_dot_product_attention

from grader.suite import (
    OTHER_FLOATS,
    Draw,
    check,
    devices,
    each,
    laws,
    printed,
    refuses,
    same,
    vary,
)
from grader.suite.arithmetic import attention64, weights64
from grader.suite.laws import Case


def combination64(weights, tokens):
    _agree(weights.shape == tokens.shape[:1], weights, tokens)
    return torch.einsum("n,nd->d", weights, tokens)


def mix64(weights, value):
    _agree((*weights.shape[:-2], weights.shape[-1]) == value.shape[:-1], weights, value)
    return torch.einsum("...qk,...kv->...qv", weights, value)


def attend64(query, key, value, mask=None):
    _agree(query.shape[:-2] == key.shape[:-2] == value.shape[:-2], query, key, value)
    _agree(key.shape[-2] == value.shape[-2] and query.shape[-1] == key.shape[-1], query, key, value)
    return attention64(query, key, value, mask)


def self64(x, w_q, w_k, w_v, causal=False):
    n = x.shape[-2]
    mask = torch.ones(n, n, dtype=torch.bool, device=x.device).tril() if causal else None
    return attend64(x @ w_q, x @ w_k, x @ w_v, mask)


def cross64(x, memory, w_q, w_k, w_v, memory_mask=None):
    mask = None
    if memory_mask is not None:
        _agree(memory_mask.shape == memory.shape[:-1], memory, memory_mask)
        mask = memory_mask.unsqueeze(-2)
    return attend64(x @ w_q, memory @ w_k, memory @ w_v, mask)


def _agree(they_do, *tensors):
    if not they_do:
        raise ValueError(f"the shapes do not fit: {[tuple(tensor.shape) for tensor in tensors]}")


REFERENCES = {
    "linear_combination": combination64,
    "mix_values": mix64,
    "attention": attend64,
    "self_attention": self64,
    "cross_attention": cross64,
}


def of_shapes(exercise, label, *shapes, scale=1.0):
    """Inputs of these shapes, all drawn with one scale."""
    return Case(
        exercise,
        lambda draw: tuple(draw(*shape, scale=scale) for shape in shapes),
        REFERENCES[exercise],
        label,
    )


def qkv(draw: Draw, *batch: int, q=5, k=7, d_k=3, d_v=2):
    query, key = draw(*batch, q, d_k, scale=1.3), draw(*batch, k, d_k, scale=1.3)
    return query, key, draw(*batch, k, d_v, scale=2)


def causal_doors(draw: Draw, n: int):
    return torch.ones(n, n, dtype=torch.bool, device=draw.device).tril()


def keys_of(draw: Draw, *rows: str):
    """A mask of keys, one row of letters for each sequence: T may be looked at, a dot may not."""
    return draw.tensor([[letter == "T" for letter in row] for row in rows], torch.bool)


def masked(draw: Draw):
    return *qkv(draw), draw.mask(5, 7)


def causal(draw: Draw):
    # square on purpose: a mask taken the wrong way round must fit, and differ by value
    return *qkv(draw, k=5), causal_doors(draw, 5)


def blind_query(draw: Draw):
    mask = draw.mask(5, 7)
    mask[3] = False
    return *qkv(draw), mask


def tokens_and_weights(draw: Draw, *batch: int, n=5, d=7, d_k=3, d_v=2):
    x, scale = draw(*batch, n, d), d**-0.5
    w_q, w_k = draw(d, d_k, scale=1.2 * scale), draw(d, d_k, scale=1.2 * scale)
    return x, w_q, w_k, draw(d, d_v, scale=scale)


def two_sequences(draw: Draw, *batch: int, q=5, k=7, d=3, d_m=11, d_k=2, d_v=4):
    w_q, w_k = draw(d, d_k, scale=1.3 / d**0.5), draw(d_m, d_k, scale=1.3 / d_m**0.5)
    w_v = draw(d_m, d_v, scale=2 / d_m**0.5)
    return draw(*batch, q, d), draw(*batch, k, d_m), w_q, w_k, w_v


def alike(draw: Draw):
    # every size that may be taken for another one is the same: only the values tell
    return two_sequences(draw, k=5, d=3, d_m=3, d_k=3, d_v=3)


def alike_masked(draw: Draw):
    return *alike(draw), keys_of(draw, "T.T.T")[0]


def memory_masked(draw: Draw):
    return *two_sequences(draw), keys_of(draw, "T.TT..T")[0]


def padded_batch(draw: Draw):
    return *two_sequences(draw, 2), keys_of(draw, "TTTTT..", "TT.....")


def two_padded_batches(draw: Draw):
    mask = keys_of(draw, "TTTTT..", "TT.....", "T......", ".TT.T.T")
    return *two_sequences(draw, 2, 2), mask.reshape(2, 2, 7)


def nothing_real(draw: Draw):
    return *two_sequences(draw, 2), keys_of(draw, "TTTTT..", ".......")


def self_case(label, *batch, causal=False, **sizes):
    return Case(
        "self_attention",
        lambda draw: tokens_and_weights(draw, *batch, **sizes),
        self64,
        label,
        {"causal": causal} if causal else {},
    )


def cross_case(label, inputs):
    return Case("cross_attention", inputs, cross64, label)


# where sizes are equal, what is swapped or transposed fits and has to be told by value
COMBINATION = of_shapes("linear_combination", "", (5,), (5, 7))
NO_TOKENS = of_shapes("linear_combination", "no_tokens", (0,), (0, 7))
MIX = of_shapes("mix_values", "", (5, 7), (7, 3))
ATTENTION = Case("attention", qkv, attend64)
MASKED = Case("attention", masked, attend64, "masked")
BLIND = Case("attention", blind_query, attend64, "blind_query")
SELF = self_case("")
CAUSAL = self_case("causal", causal=True)
CROSS = cross_case("", two_sequences)
MEMORY_MASKED = cross_case("masked", memory_masked)
NOTHING_REAL = cross_case("nothing_real", nothing_real)
FULL = [COMBINATION, MIX, MASKED, CAUSAL, MEMORY_MASKED]
MASK_OF_KEYS = Case(
    "attention", lambda draw: (*qkv(draw, 2), draw.mask(2, 1, 7)), attend64, "mask_of_keys"
)
# n taken from the wrong place is 1 here, and such a mask closes nothing: told by value
BATCH_OF_ONE = self_case("batch_of_one_causal", 1, causal=True)
ATTENTION_BATCHES = [
    Case("attention", lambda draw: qkv(draw, 2), attend64, "batch"),
    Case("attention", lambda draw: (*qkv(draw, 2), draw.mask(2, 5, 7)), attend64, "batch_masked"),
    Case("attention", lambda draw: qkv(draw, 2, 3), attend64, "two_batches"),
    Case(
        "attention",
        lambda draw: (*qkv(draw, 2, 3), draw.mask(5, 7)),
        attend64,
        "two_batches_masked",
    ),
]
SELF_BATCHES = [
    self_case("batch", 2),
    self_case("batch_causal", 2, causal=True),
    self_case("two_batches", 2, 3),
    self_case("two_batches_causal", 2, 3, causal=True),
]
CROSS_BATCHES = [
    cross_case("batch", lambda draw: two_sequences(draw, 2)),
    cross_case("padded_batch", padded_batch),
    cross_case("two_batches", lambda draw: two_sequences(draw, 2, 2)),
    cross_case("two_padded_batches", two_padded_batches),
]


@check(core=True)
@each(
    [
        of_shapes("linear_combination", "square", (5,), (5, 5)),
        COMBINATION,
        of_shapes("mix_values", "square", (5, 5), (5, 5)),
        MIX,
        Case("attention", lambda draw: qkv(draw, k=5, d_v=3), attend64, "alike"),
        ATTENTION,
        Case("attention", causal, attend64, "causal"),
        MASKED,
        self_case("square", d=3, d_v=3),
        SELF,
        self_case("square_causal", d=3, d_v=3, causal=True),
        CAUSAL,
        cross_case("alike", alike),
        CROSS,
        cross_case("alike_masked", alike_masked),
        MEMORY_MASKED,
    ]
)
def test_values(answer, draw, case):
    """Catches a wrong scale or dimension, roles that are swapped, a mask taken wrongly."""
    laws.values(answer, draw, case)


@check(core=True)
@each(
    [
        of_shapes("mix_values", "batch", (2, 5, 7), (2, 7, 3)),
        of_shapes("mix_values", "two_batches", (2, 3, 5, 7), (2, 3, 7, 2)),
        *ATTENTION_BATCHES,
        MASK_OF_KEYS,
        BATCH_OF_ONE,
        *SELF_BATCHES,
        *CROSS_BATCHES,
    ]
)
def test_batches(answer, draw, case):
    """Catches code that leans on two dimensions, or on one batch dimension."""
    laws.values(answer, draw, case)


@check("attention", core=True)
def test_attention_is_your_own(answer, draw):
    """Refuses a ready-made attention, under any name and for any shape."""
    laws.your_own(answer, draw, "attention", [ATTENTION, MASKED, *ATTENTION_BATCHES])
    exact = draw.using(torch.float64)
    query, key, value = (exact(12, 8) for _ in "qkv")
    with torch.no_grad():
        got = answer.attention(query, key, value)
    same(got, attention64(query, key, value), like=query)
    laws.not_to_the_bit(got, laws.attention_kernels(query, key, value), "attention", "attention")


@check("self_attention", core=True)
def test_self_attention_is_your_own(answer, draw):
    """Refuses a ready-made attention inside self-attention, under any name and for any shape."""
    laws.your_own(answer, draw, "attention", [SELF, CAUSAL, *SELF_BATCHES])


@check("cross_attention", core=True)
def test_cross_attention_is_your_own(answer, draw):
    """Refuses a ready-made attention inside cross-attention, under any name and for any shape."""
    laws.your_own(answer, draw, "attention", [CROSS, MEMORY_MASKED, *CROSS_BATCHES])


@check(core=True)
@each(
    [
        of_shapes("linear_combination", "one_token", (1,), (1, 7)),
        of_shapes("linear_combination", "one_number", (5,), (5, 1)),
        Case("mix_values", lambda draw: (draw(5, 7) * draw.tensor([[1], [0], [1], [0], [2]]),
             draw(7, 3)), mix64, "rows_of_zeros"),
        of_shapes("mix_values", "one_key", (5, 1), (1, 3)),
        of_shapes("mix_values", "one_query", (1, 7), (7, 3)),
        BLIND,
        Case("attention", lambda draw: qkv(draw, q=1, k=1), attend64, "one_of_each"),
        self_case("one_token", n=1),
        self_case("one_token_causal", n=1, causal=True),
        NOTHING_REAL,
        cross_case("one_memory_token", lambda draw: two_sequences(draw, k=1)),
    ]
)  # fmt: skip
def test_edges(answer, draw, case):
    """Catches NaN for a query that may look at nothing, and code that needs more than one."""
    laws.values(answer, draw, case)


# document 002: three tokens, and the layers that its seed gives, with more digits than it prints
TOKENS = [
    [0.3366904, 0.1288094, 0.2344624, 0.2303330, -1.1228564],
    [-0.1863283, 2.2082014, -0.6379970, 0.4616572, 0.2673509],
    [0.5349047, 0.8093572, 1.1102903, -1.6897990, -0.9889599],
]
W_K = [
    [-1.3846737, -0.8712361, -0.2233659, 1.7173615],
    [-0.4879917, 1.1913691, -0.8140076, -0.7359928],
    [-0.8371246, -0.9223900, 1.8113178, 0.1605649],
    [-0.0978069, 1.8445940, -1.1845374, 1.3835493],
    [-1.2024456, 0.7078122, -1.0758859, 0.5356547],
]
W_Q = [
    [0.3466467, -0.1973314, -1.0545889, 1.2779956],
    [0.7281095, -0.7106419, -0.6020683, 0.9604488],
    [0.4048143, -1.3543429, -0.4976462, 0.4746614],
    [-0.1975617, 1.2683114, 1.2242628, 0.0981172],
    [1.7422527, -1.3526736, 0.2190605, 0.5526349],
]
W_V = [
    [-0.6787530, 0.5743161, 0.1877491, -0.3576230],
    [0.5176930, 0.3877785, -0.5796772, -0.1691152],
    [1.9311606, 1.0118638, -1.4364065, -1.1298598],
    [0.2703736, -0.5628242, 0.6793404, 0.4405301],
    [1.1415080, 0.0185646, -1.8058051, 0.9254349],
]
NAIVE_MIX = [
    [1.2045, 0.9488, 1.8346, -1.8501, -2.9674],
    [-1.1198, 12.3029, -3.6754, 2.6688, 1.6991],
    [3.6518, 4.8810, 7.0084, -9.8898, -7.3800],
]
RESULT = [
    [-0.9285, 0.3301, 1.8359, -1.3448],
    [-0.8652, 0.3082, 1.7268, -1.2445],
    [0.1138, 0.0517, 0.0270, 0.1831],
]


def projected_in_002(draw: Draw):
    """Q, K and V of document 002."""
    tokens = torch.tensor(TOKENS, dtype=torch.float64)
    made = [tokens @ torch.tensor(w, dtype=torch.float64) for w in (W_Q, W_K, W_V)]
    return [tensor.to(draw.device, draw.dtype) for tensor in made]


@check("linear_combination", core=True)
@vary("weights", [(1 / 2, 1 / 2, 0.0), (1 / 3, 1 / 3, 1 / 3), (1.4988, -0.1217, 1.2659)])
def test_linear_combination_printed_in_002(answer, draw, weights):
    """Document 002: half of two tokens, a third of all three, and the first naive scores."""
    want = {
        0.0: [0.0752, 1.1685, -0.2018, 0.3460, -0.4278],
        1 / 3: [0.2284, 1.0488, 0.2356, -0.3326, -0.6148],
        1.2659: NAIVE_MIX[0],
    }[weights[-1]]
    # the scores were rounded to four digits, and that much the last digit of the answer may move
    within = printed(3) if weights[-1] == 1.2659 else printed(4)
    out = answer.linear_combination(draw.tensor(weights), draw.tensor(TOKENS))
    same(out, draw.tensor(want), within=within)


@check("mix_values", core=True)
def test_mix_values_naive_in_002(answer, draw):
    """The naive mix that document 002 prints: its scores times its tokens."""
    tokens = torch.tensor(TOKENS, dtype=torch.float64)
    scores = (tokens @ tokens.T).to(draw.device, draw.dtype)
    out = answer.mix_values(scores, draw.tensor(TOKENS))
    same(out, draw.tensor(NAIVE_MIX), within=printed(4))


@check("mix_values", core=True)
def test_mix_values_printed_in_002(answer, draw):
    """The last product of document 002: its masked weights times its values."""
    query, key, value = projected_in_002(draw)
    weights = weights64(query.double(), key.double(), causal_doors(draw, 3)).to(query.dtype)
    same(answer.mix_values(weights, value), draw.tensor(RESULT), within=printed(4))


@check("attention", core=True)
def test_attention_printed_in_002(answer, draw):
    """From Q, K, V and the mask of document 002 to the result that it prints."""
    out = answer.attention(*projected_in_002(draw), causal_doors(draw, 3))
    same(out, draw.tensor(RESULT), within=printed(4))


@check("self_attention", core=True)
def test_self_attention_printed_in_002(answer, draw):
    """The whole path of document 002, from its tokens to its result."""
    made = [draw.tensor(w) for w in (W_Q, W_K, W_V)]
    out = answer.self_attention(draw.tensor(TOKENS), *made, causal=True)
    same(out, draw.tensor(RESULT), within=printed(4))


def poem_in_001(draw: Draw):
    """Document 001: "write a poem", and the layers of its seed as nn.Linear stores them."""
    embeddings = draw.tensor([[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]])
    query = draw.tensor([[0.5406104, 0.5869042], [-0.1656557, 0.6495563]])
    key = draw.tensor([[-0.1549296, 0.1426876], [-0.3442585, 0.4152716]])
    value = draw.tensor([[0.6233450, -0.5187534], [0.6146145, 0.1323416]])
    return embeddings, query.T, key.T, value.T


@check("attention", core=True)
def test_attention_printed_in_001(answer, draw):
    """Document 001: "write" gives itself 36 %, "a" 40 % and "poem" 24 % of its attention."""
    x, w_q, w_k, _ = poem_in_001(draw)
    # values that are the identity hand over the weights
    out = answer.attention(x @ w_q, x @ w_k, draw.tensor([[1, 0, 0], [0, 1, 0], [0, 0, 1]]))
    same(out, weights64((x @ w_q).double(), (x @ w_k).double()), like=x)
    same(out[0], draw.tensor([0.36, 0.40, 0.24]), within=printed(2), label='the row of "write"')


@check("self_attention", core=True)
def test_self_attention_printed_in_001(answer, draw):
    """Document 001: the first output of "write" is 1.0, with all its digits 1.0100."""
    inputs = poem_in_001(draw)
    out = answer.self_attention(*inputs)
    same(out, self64(*map(laws.exact, inputs)), like=inputs[0])
    same(out[0, 0], draw.tensor(1.0100), within=printed(4), label='the first output of "write"')


@check()
@vary("dtype", OTHER_FLOATS)
@each(FULL)
def test_dtypes(answer, draw, case, dtype):
    """Catches an output that is always float32, and constants that do not follow the dtype."""
    laws.values(answer, draw.using(dtype), case)


@check()
@each(FULL)
def test_strides(answer, draw, case):
    """Catches `view` on memory that is not in order."""
    laws.strides(answer, draw, case)


@check()
@each(FULL)
def test_inputs_unchanged(answer, draw, case):
    """Catches in-place arithmetic on the caller's tensors, and results kept for later calls."""
    laws.inputs_unchanged(answer, draw, case)


@check()
@each([*FULL, BLIND, NOTHING_REAL])
def test_gradients(answer, draw, case):
    """Catches a cut graph and NaN that flows back through a blind row; compared by value."""
    laws.gradients(answer, draw, case)


@check()
@each(devices.by_exercise([*FULL, NO_TOKENS, ATTENTION, BLIND, SELF, CROSS]))
def test_device_ready(answer, draw, case):
    """Catches what works on the CPU alone: a tensor made without `device=`, or moved away."""
    devices.device_ready(answer, draw, case)


@check("attention")
def test_attention_equals_pytorchs(answer, draw):
    """Holds the output against PyTorch's own attention."""
    query, key, value, mask = masked(draw)
    oracle = scaled_dot_product_attention(query, key, value, attn_mask=mask)
    same(answer.attention(query, key, value, mask), oracle)


@check("attention")
def test_attention_follows_its_keys(answer, draw):
    """Catches a mix that depends on where a key stands: shuffled with its value, nothing moves."""
    query, key, value = qkv(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    out = answer.attention(query, key[order], value[order])
    same(out, attend64(*map(laws.exact, (query, key, value))), like=query)


@check("attention")
def test_attention_does_not_see_closed_keys(answer, draw):
    """Catches a mask that leaks: a key and a value that are closed to a query move nothing."""
    query, key, value, mask = causal(draw)
    before = answer.attention(query, key, value, mask)
    same(before, attend64(*map(laws.exact, (query, key, value)), mask), like=query)
    key[3:] += 3
    value[3:] -= 5
    after = answer.attention(query, key, value, mask)
    same(after[:3], before[:3], label="the rows of queries 0 to 2 after keys 3 and 4 changed")


@check("self_attention")
def test_self_attention_does_not_see_the_future(answer, draw):
    """Catches a causal mask that leaks: a change to a later token changes nothing before it."""
    x, *made = tokens_and_weights(draw)
    before = answer.self_attention(x, *made, causal=True)
    same(before, self64(*map(laws.exact, (x, *made)), causal=True), like=x)
    changed = x.clone()
    changed[3:] += 3
    after = answer.self_attention(changed, *made, causal=True)
    same(after[:3], before[:3], label="the rows of tokens 0 to 2 after tokens 3 and 4 changed")


@check("self_attention")
def test_self_attention_follows_its_tokens(answer, draw):
    """Catches order where there should be none: shuffled tokens give the same rows, shuffled."""
    x, *made = tokens_and_weights(draw)
    order = draw.tensor([3, 0, 1, 4, 2], torch.int64)
    want = self64(*map(laws.exact, (x, *made)))[order]
    same(answer.self_attention(x[order], *made), want, like=x)


@check("self_attention")
def test_self_attention_takes_causal_by_place(answer, draw):
    """Catches another order of the arguments: `causal` is the fifth, and False by default."""
    inputs = tokens_and_weights(draw)
    for causal in (True, False):
        same(
            answer.self_attention(*inputs, causal),
            self64(*map(laws.exact, inputs), causal),
            like=inputs[0],
        )


@check("cross_attention")
def test_cross_attention_does_not_see_padding(answer, draw):
    """Catches a mask that leaks: memory that is not real may hold anything."""
    x, memory, *made, mask = padded_batch(draw)
    before = answer.cross_attention(x, memory, *made, mask)
    same(before, cross64(*map(laws.exact, (x, memory, *made)), mask), like=x)
    changed = memory.clone()
    changed[~mask] += 3
    after = answer.cross_attention(x, changed, *made, mask)
    same(after, before, label="the output after the padding changed")


@check("cross_attention")
def test_cross_attention_follows_its_memory(answer, draw):
    """Catches order where there should be none: shuffled memory with its mask moves nothing."""
    x, memory, *made, mask = memory_masked(draw)
    order = draw.tensor([3, 0, 6, 1, 5, 2, 4], torch.int64)
    want = cross64(*map(laws.exact, (x, memory, *made)), mask)
    same(answer.cross_attention(x, memory[order], *made, mask[order]), want, like=x)


@check("linear_combination")
def test_linear_combination_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    for n, tokens in ((3, 5), (1, 5), (5, 1)):
        refuses(
            lambda n=n, tokens=tokens: answer.linear_combination(draw(n), draw(tokens, 7)),
            n, tokens, why=f"there are {n} weights for {tokens} tokens",
        )  # fmt: skip


@check("mix_values")
def test_mix_values_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    refuses(
        lambda: answer.mix_values(draw(5, 7), draw(4, 3)), 7, 4,
        why="`weights` is [5, 7] and `value` is [4, 3]: 7 keys and 4 values",
    )  # fmt: skip
    refuses(
        lambda: answer.mix_values(draw(5, 1), draw(7, 3)), 1, 7,
        why="`weights` is [5, 1] and `value` is [7, 3]: 1 key and 7 values",
    )  # fmt: skip
    refuses(
        lambda: answer.mix_values(draw(2, 5, 7), draw(1, 7, 3)), 2, 1,
        why="`weights` has a batch of 2 and `value` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.mix_values(draw(2, 5, 7), draw(7, 3)), 2,
        why="`weights` is [2, 5, 7], a batch of 2, and `value` is [7, 3], without a batch",
    )  # fmt: skip


@check("attention")
def test_attention_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    query, key, value = qkv(draw)
    refuses(
        lambda: answer.attention(query, draw(7, 4), value), 3, 4,
        why="`query` is 3 wide and `key` is 4 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query, key, draw(6, 2)), 7, 6,
        why="`key` has 7 rows and `value` has 6",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query, key, draw(1, 2)), 7, 1,
        why="`key` has 7 rows and `value` has 1",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(draw(2, 5, 3), draw(2, 7, 3), draw(1, 7, 4)), 2, 1,
        why="`key` has a batch of 2 and `value` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(draw(2, 5, 3), draw(1, 7, 3), draw(2, 7, 4)), 2, 1,
        why="`query` has a batch of 2 and `key` a batch of 1",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query, key, value, draw.mask(5, 4)), 7, 4,
        why="`mask` is [5, 4] and the scores are [5, 7]",
    )  # fmt: skip


@check("attention")
def test_attention_refuses_a_mask_that_enlarges(answer, draw):
    """Catches scores that the mask repeats in silence: only the mask broadcasts."""
    query, key, value = qkv(draw, 1, q=3, k=5)
    refuses(
        lambda: answer.attention(query[0], key[0], value[0], draw.mask(2, 3, 5)), 2,
        why="`mask` is [2, 3, 5], a batch of 2, and the scores are [3, 5], without a batch",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query[0, :1], key[0], value[0], draw.mask(3, 5)), 3, 1,
        why="`mask` is [3, 5] and would repeat the scores, [1, 5]",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query[0], key[0, :1], value[0, :1], draw.mask(3, 5)), 5, 1,
        why="`mask` is [3, 5] and would repeat the scores, [3, 1]",
    )  # fmt: skip
    refuses(
        lambda: answer.attention(query, key, value, draw.mask(2, 3, 5)), 2, 1,
        why="`mask` is [2, 3, 5] and would repeat the scores, [1, 3, 5]",
    )  # fmt: skip


@check("self_attention")
def test_self_attention_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    x, w_q, w_k, w_v = tokens_and_weights(draw)
    refuses(
        lambda: answer.self_attention(x, draw(6, 3), w_k, w_v), 7, 6,
        why="the tokens are 7 wide and `w_q` has 6 rows",
    )  # fmt: skip
    refuses(
        lambda: answer.self_attention(x, w_q, w_k, draw(1, 2)), 7, 1,
        why="the tokens are 7 wide and `w_v` has 1 row",
    )  # fmt: skip
    refuses(
        lambda: answer.self_attention(x, w_q, draw(7, 4), w_v), 3, 4,
        why="the queries are 3 wide and the keys are 4 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.self_attention(x, w_q, draw(7, 1), w_v), 3, 1,
        why="the queries are 3 wide and the keys are 1 wide",
    )  # fmt: skip


@check("cross_attention")
def test_cross_attention_refuses_misfits(answer, draw):
    """Catches a silent broadcast, and errors that do not say which sizes do not fit."""
    x, memory, w_q, w_k, w_v = two_sequences(draw, 2)
    refuses(
        lambda: answer.cross_attention(x, memory, w_q, draw(3, 2), w_v), 11, 3,
        why="the memory is 11 wide and `w_k` has 3 rows",
    )  # fmt: skip
    refuses(
        lambda: answer.cross_attention(x, memory, w_q, draw(11, 6), w_v), 2, 6,
        why="the queries are 2 wide and the keys are 6 wide",
    )  # fmt: skip
    refuses(
        lambda: answer.cross_attention(x, draw(3, 7, 11), w_q, w_k, w_v), 2, 3,
        why="`x` has a batch of 2 and `memory` a batch of 3",
    )  # fmt: skip
    refuses(
        lambda: answer.cross_attention(x, draw(1, 7, 11), w_q, w_k, w_v), 2, 1,
        why="`x` has a batch of 2 and `memory` a batch of 1",
    )  # fmt: skip


@check("cross_attention")
def test_cross_attention_refuses_a_mask_of_another_shape(answer, draw):
    """Catches a mask that broadcasts: for a batch of memory it is exactly [*batch, k]."""
    inputs = two_sequences(draw, 2)
    for shape, sizes in {(7,): (2, 7), (1, 7): (1, 2), (2, 1): (1, 7), (2, 5): (5, 7)}.items():
        refuses(
            lambda shape=shape: answer.cross_attention(*inputs, draw.mask(*shape)), *sizes,
            why=f"`memory_mask` is {list(shape)} and the memory is [2, 7, 11]",
        )  # fmt: skip
