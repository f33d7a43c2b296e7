"""Chapter 13: a decoder part by part, by value; what it learns, and what it writes."""

import math

import torch
from torch import nn

from grader.answers.handed import Handed, Noted
from grader.suite import (
    Case,
    Draw,
    Growth,
    ModuleCase,
    Played,
    Rule,
    check,
    checks_by_law,
    equal,
    exact,
    holds,
    in_any_words,
    later_call,
    leaf,
    reference,
    refusal,
    same,
    situation,
    unchanged,
    vary,
)
from grader.suite.arithmetic import attention64, softmax64, turned64
from grader.suite.devices import on_a_gpu
from grader.suite.laws.gradients import pulled
from grader.suite.promises import LEAVES
from grader.suite.your_own import READY_ATTENTION, your_own

EPS = 1e-6
LAYERS = ("w_q", "w_k", "w_v", "w_o")
READY_MADE = Rule("ready-made")


# What is right, in float64 and row by row


@reference
def rms_norm(x, weight, eps=EPS):
    if x.dim() < 1 or weight.shape != x.shape[-1:]:
        raise ValueError(f"{tuple(x.shape)} and {tuple(weight.shape)}")
    size = torch.einsum("...d,...d->...", x.double(), x.double()) / x.shape[-1] + eps
    return (torch.einsum("...d,...,d->...d", x.double(), size**-0.5, weight.double())).to(x.dtype)


def part_of(weights, name):
    """Take the weights of one part."""
    return {key[len(name) + 1 :]: one for key, one in weights.items() if key.startswith(f"{name}.")}


@reference
def linear(x, weight):
    return torch.einsum("...i,oi->...o", x, weight)


@reference
def attended(weights, x, cache, d_model, n_heads, n_kv_heads):
    groups, d = n_heads if n_kv_heads is None else n_kv_heads, d_model // n_heads
    begin = 0 if cache is None else cache.length
    query, key, value = (
        linear(x, weights[f"{name}.weight"]).unflatten(-1, (-1, d)).transpose(-3, -2)
        for name in LAYERS[:3]
    )
    query, key = turned64(query, begin), turned64(key, begin)
    if cache is not None:
        key, value = cache.update(key, value)
    n, times = key.shape[-2], n_heads // groups
    sees = torch.ones(n, n, dtype=torch.bool, device=x.device).tril()[begin:]
    heads = [
        attention64(query[..., j, :, :], key[..., j // times, :, :], value[..., j // times, :, :],
                    sees)
        for j in range(n_heads)
    ]  # fmt: skip
    return linear(torch.cat(heads, -1), weights["w_o.weight"])


@reference
def block_rows(weights, x, cache=None, *, made):
    d_model, n_heads, n_kv_heads = made[:3]
    rows = rms_norm(x, weights["norm_1"])
    x = x + attended(part_of(weights, "attention"), rows, cache, d_model, n_heads, n_kv_heads)
    rows = rms_norm(x, weights["norm_2"])
    gate = linear(rows, weights["gate.weight"])
    open_by = gate / (1 + torch.exp(-gate))
    return x + linear(open_by * linear(rows, weights["up.weight"]), weights["down.weight"])


@reference
def decoder_logits(weights, ids, caches=None, *, made):
    _, d_model, n_layers, n_heads, n_kv_heads = (*made, None)[:5]
    x = weights["embedding.weight"][ids]
    for i in range(n_layers):
        parts = part_of(weights, f"blocks.{i}")
        cache = None if caches is None else caches[i]
        x = block_rows(parts, x, cache, made=(d_model, n_heads, n_kv_heads))
    return linear(rms_norm(x, weights["norm"]), weights["head.weight"])


@reference
def next_token_loss(logits, ids):
    if logits.dim() != 3 or logits.shape[:2] != ids.shape or ids.shape[1] < 2:
        raise ValueError(f"{tuple(logits.shape)} and {tuple(ids.shape)}")
    log_shares = logits.double() - torch.logsumexp(logits.double(), -1, keepdim=True)
    batch, n = ids.shape
    hit = [log_shares[b, i, int(ids[b, i + 1])] for b in range(batch) for i in range(n - 1)]
    return (-sum(hit) / len(hit)).to(logits.dtype)


class Attention(nn.Module):
    """The layers of an attention, for the stand-ins below."""

    def __init__(self, d_model, n_heads, n_kv_heads):
        super().__init__()
        groups = n_heads if n_kv_heads is None else n_kv_heads
        if n_heads < 1 or d_model % n_heads or d_model // n_heads % 2:
            raise ValueError(f"{n_heads} heads cannot share {d_model} features")
        if groups < 1 or n_heads % groups:
            raise ValueError(f"{n_heads} heads cannot share {groups}")
        narrow = d_model // n_heads * groups
        for name, width in zip(LAYERS, (d_model, narrow, narrow, d_model), strict=True):
            self.add_module(name, nn.Linear(d_model, width, bias=False))


@reference
class DecoderBlock(nn.Module):
    """Stands in for a student's where a later function fails."""

    def __init__(self, d_model, n_heads, n_kv_heads, d_hidden):
        super().__init__()
        self.made = d_model, n_heads, n_kv_heads
        self.norm_1 = nn.Parameter(torch.ones(d_model))
        self.norm_2 = nn.Parameter(torch.ones(d_model))
        self.attention = Attention(d_model, n_heads, n_kv_heads)
        self.gate = nn.Linear(d_model, d_hidden, bias=False)
        self.up = nn.Linear(d_model, d_hidden, bias=False)
        self.down = nn.Linear(d_hidden, d_model, bias=False)

    def forward(self, x, cache=None):
        """Do all of it in float64."""
        if x.dim() < 2 or x.shape[-1] != self.made[0]:
            raise ValueError(f"{tuple(x.shape)} for {self.made}")
        weights = {name: weight.double() for name, weight in self.named_parameters()}
        return block_rows(weights, x.double(), cache, made=self.made).to(x.dtype)


@reference
class Decoder(nn.Module):
    """Stands in for a student's where a later function fails."""

    def __init__(self, vocab_size, d_model, n_layers, n_heads, n_kv_heads=None):
        super().__init__()
        self.made = vocab_size, d_model, n_layers, n_heads, n_kv_heads
        self.embedding = nn.Embedding(vocab_size, d_model)
        blocks = [DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids, caches=None):
        """Do all of it in float64."""
        if ids.dim() != 2 or (caches is not None and len(caches) != len(self.blocks)):
            raise ValueError(f"{tuple(ids.shape)}, and caches for {len(self.blocks)} blocks")
        weights = {name: weight.double() for name, weight in self.named_parameters()}
        return decoder_logits(weights, ids, caches, made=self.made).to(self.norm.dtype)


@reference
def generate(model, ids, steps, temperature=0.0, generator=None):
    if ids.dim() != 2 or not ids.shape[1] or steps < 0 or temperature < 0:
        raise ValueError(f"{tuple(ids.shape)}, {steps} and {temperature}")
    for _ in range(steps):
        with torch.no_grad():
            last = model(ids)[:, -1].double()
        if temperature:
            shares = softmax64(last / temperature)
            new = torch.multinomial(shares, 1, generator=generator)
        else:
            new = last.argmax(-1, keepdim=True)
        ids = torch.cat([ids, new], 1)
    return ids


@reference
def whole_rows(made, weights, pieces, capacity):  # noqa: ARG001
    out = block_rows(weights, torch.cat(pieces, -2), made=made)
    return list(out.split([piece.shape[-2] for piece in pieces], -2))


@reference
def whole_logits(made, weights, pieces, capacity):  # noqa: ARG001
    out = decoder_logits(weights, torch.cat(pieces, -1), made=made)
    return list(out.split([piece.shape[-1] for piece in pieces], -2))


# How each function is called, at whatever sizes


def rows(draw: Draw, *batch: int, d=7):
    return draw(*batch, d, scale=1.5), draw(d)


def a_row_of_zeros(draw: Draw):
    x = draw(4, 7)
    x[1], x[3, 2:] = 0, 0
    return x, draw(7)


def small_rows(draw: Draw):
    """Draw numbers whose squares are as large as eps."""
    return draw(5, 7, scale=1e-3), draw(7)


def large_rows(draw: Draw):
    """Draw numbers whose squares are more than float16 can hold."""
    return draw(5, 7, scale=3.0) + 900, draw(7)


def one_large_feature(draw: Draw):
    x = draw(5, 7)
    x[:, 3] = 4096
    return x, draw(7)


def small(draw: Draw) -> float:
    """Make float64 small: what turns or divides in float32 there has no more digits."""
    return 0.05 if draw.dtype == torch.float64 else 1.0


def attention_weights(draw: Draw, d_model: int, n_heads: int, n_kv_heads: int | None):
    narrow = d_model // n_heads * (n_kv_heads or n_heads)
    widths = (d_model, narrow, narrow, d_model)
    return {
        f"{name}.weight": draw(width, d_model, scale=d_model**-0.5)
        for name, width in zip(LAYERS, widths, strict=True)
    }


def block_weights(draw: Draw, d_model: int, n_heads: int, n_kv_heads: int | None, d_hidden: int):
    attention = attention_weights(draw, d_model, n_heads, n_kv_heads)
    size = d_model**-0.5
    return {
        "norm_1": draw(d_model, scale=small(draw)),
        "norm_2": draw(d_model, scale=small(draw)),
        **{f"attention.{name}": one for name, one in attention.items()},
        "gate.weight": draw(d_hidden, d_model, scale=1.5 * size),
        "up.weight": draw(d_hidden, d_model, scale=1.5 * size),
        "down.weight": draw(d_model, d_hidden, scale=d_hidden**-0.5),
    }


def decoder_weights(draw: Draw, vocab_size, d_model, n_layers, n_heads, n_kv_heads=None):
    blocks = [
        block_weights(draw, d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)
    ]
    return {
        "embedding.weight": draw(vocab_size, d_model),
        **{f"blocks.{i}.{name}": one for i, b in enumerate(blocks) for name, one in b.items()},
        "norm": draw(d_model, scale=small(draw)),
        "head.weight": draw(vocab_size, d_model, scale=1.5 * d_model**-0.5),
    }


def few(n: int, n_kv_heads: int, times: int, pairs: int) -> tuple[int, int, int, int]:
    """Let there be few heads where all sizes are large: plain loops go from score to score."""
    n, n_kv_heads, times, pairs = min(n, 37), min(n_kv_heads, 5), min(times, 3), min(pairs, 3)
    if n_kv_heads * times * n * n > 700:
        n_kv_heads, times = min(n_kv_heads, 2), min(times, 2)
    return n, n_kv_heads, times, pairs


def a_block(draw: Draw, *batch: int, n=5, n_kv_heads=2, times=3, pairs=1, d_hidden=7):
    n, n_kv_heads, times, pairs = few(n, n_kv_heads, times, pairs)
    made = 2 * pairs * n_kv_heads * times, n_kv_heads * times, n_kv_heads, d_hidden
    return made, block_weights(draw, *made), (draw(*batch, n, made[0], scale=1.3),)


def a_block_of_equal_heads(draw: Draw, *batch: int, n=5, n_heads=3, d_hidden=11):
    n, n_heads, _, _ = few(n, n_heads, 1, 1)
    made = 2 * n_heads, n_heads, None, d_hidden
    return made, block_weights(draw, *made), (draw(*batch, n, made[0], scale=1.3),)


def a_decoder(draw: Draw, *, batch=2, n=5, vocab_size=11, n_layers=2, n_kv_heads=1, times=3):
    n, n_kv_heads, times, pairs = few(n, n_kv_heads, times, 1)
    batch, n_layers = min(batch, max(1, 60 // n)), min(n_layers, 3)
    n_layers = 1 if batch * n * n_kv_heads * times > 60 else n_layers
    made = vocab_size, 2 * pairs * n_kv_heads * times, n_layers, n_kv_heads * times, n_kv_heads
    return made, decoder_weights(draw, *made), (draw.integers(0, vocab_size, batch, n),)


def a_decoder_of_equal_heads(draw: Draw, *, batch=2, n=7, n_heads=2):
    n, n_heads, _, _ = few(n, n_heads, 1, 1)
    made = 13, 4 * n_heads, 1, n_heads
    return (
        made,
        decoder_weights(draw, *made),
        (draw.integers(0, 13, min(batch, max(1, 60 // n)), n),),
    )


def pieces_of(sizes: tuple[int, ...], batch: tuple[int, ...] = ()):
    """Make inputs of a block that reads pieces of these sizes."""

    def inputs(draw: Draw):
        made, weights, (x,) = a_block(draw, *batch, n=sum(sizes))
        return made, weights, list(x.split(list(sizes), -2)), sum(sizes)

    return inputs


def ids_in(*sizes: int, n_layers: int = 2):
    """Make inputs of a decoder that reads pieces of these sizes."""

    def inputs(draw: Draw):
        made, weights, (ids,) = a_decoder(draw, n=sum(sizes), n_layers=n_layers)
        return made, weights, list(ids.split(list(sizes), -1)), sum(sizes)

    return inputs


def logits_and_ids(draw: Draw, *, batch=3, pairs=4, vocab_size=7):
    batch, pairs = min(batch, 43), min(pairs, 61)
    logits = draw(batch, pairs + 1, vocab_size, scale=2)
    return logits, draw.integers(0, vocab_size, batch, pairs + 1)


def two_words(draw: Draw):
    return draw(3, 2, 5, scale=2), draw.integers(0, 5, 3, 2)


def sure_logits(draw: Draw):
    """Draw logits that exp cannot take: some guesses are right, and some are wrong."""
    largest = 2.0**12 if draw.dtype in (torch.float16, torch.bfloat16) else 1e4
    logits = largest * draw.tensor([[[1, 0, 0], [0, 1, 0], [0, -1, 1], [1, 0, 1]]] * 2)
    return logits, draw.tensor([[2, 0, 1, 2], [1, 0, 1, 0]], torch.int64)


# What is played


def cache_for(answer, capacity):
    return answer.earlier("ex11_cache", "KeyValueCache", capacity)


def block_reads(answer, made, weights, pieces, capacity):
    block, cache = BLOCK.make(answer, (made, weights)), cache_for(answer, capacity)
    return [answer.moved(block)(piece, cache) for piece in pieces]


def decoder_reads(answer, made, weights, pieces, capacity):
    model = DECODER.make(answer, (made, weights))
    caches = [cache_for(answer, capacity) for _ in range(made[2])]
    return [answer.moved(model)(piece, caches) for piece in pieces]


def reading(sizes, label="", batch=()):
    label = label or f"cache-{'+'.join(map(str, sizes))}"
    return Played("DecoderBlock", pieces_of(sizes, batch), whole_rows, label, slopes=False,
                  play=block_reads, cites="With a cache the rows")  # fmt: skip


def writing(sizes, label="", **more):
    label = label or f"caches-{'+'.join(map(str, sizes))}"
    return Played("Decoder", ids_in(*sizes, **more), whole_logits, label, slopes=False,
                  play=decoder_reads, cites="With caches the rows")  # fmt: skip


BLOCK = ModuleCase("DecoderBlock", a_block, block_rows)
EQUAL_BLOCK = ModuleCase(
    "DecoderBlock", a_block_of_equal_heads, block_rows, "as_many_heads", cites="None: as many as"
)
DECODER = ModuleCase("Decoder", a_decoder, decoder_logits)
EQUAL_DECODER = ModuleCase(
    "Decoder", a_decoder_of_equal_heads, decoder_logits, "as_many_heads", cites="None: as many as"
)
LOSS = Case("next_token_loss", logits_and_ids, next_token_loss)
CASES = [
    Case("rms_norm", rows, rms_norm),
    Case("rms_norm", rows, rms_norm, "eps", {"eps": 0.5}),
    BLOCK, EQUAL_BLOCK, DECODER, EQUAL_DECODER, LOSS,
]  # fmt: skip
CUTS = [(1, 1, 1, 1), (3, 2, 2), (4, 1, 1), (6,)]
ZEROS = "A row of zeros"
AT_LEAST = "It is worked out in float32"
SPECIAL = [
    Case("rms_norm", a_row_of_zeros, rms_norm, "a_row_of_zeros", cites=ZEROS, everywhere=True),
    Case("rms_norm", small_rows, rms_norm, "as_small_as_eps", everywhere=True),
    Case("rms_norm", large_rows, rms_norm, "large", cites=AT_LEAST, everywhere=True),
    Case("rms_norm", one_large_feature, rms_norm, "one_large_feature", cites=AT_LEAST,
         everywhere=True),
    # float16 has no such number, nor one over its root
    Case("rms_norm", a_row_of_zeros, rms_norm, "a_row_of_zeros-little_eps", {"eps": 1e-12},
         cites=ZEROS, everywhere=True, polish=True),
    *(reading(sizes) for sizes in CUTS),
    reading((2, 1, 1), "cache-two_batches", (2, 3)),
    *(writing(sizes) for sizes in CUTS),
    writing((2, 1), "caches-three_layers", n_layers=3),
    Case("next_token_loss", two_words, next_token_loss, "two_words"),
    Case("next_token_loss", sure_logits, next_token_loss, "large", cites="Large logits do",
         everywhere=True),
]  # fmt: skip

# ---- a model of the checks, which notes what it is fed ----


class Writer(Handed):
    """A small model that adds up what all words so far say, block by block."""

    def forward(self, ids, caches=None):
        """Note how it is asked, and score the words."""
        if ids.ndim != 2:
            raise IndexError(f"the model is asked with ids [batch, n], not {list(ids.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise IndexError(f"the model has {len(self.blocks)} blocks, and caches: {len(caches)}")
        # copies of the model note in the same place
        held = vars(self.noted).setdefault("held", [])
        held += [one for one in caches or () if not any(one is other for other in held)]
        if len(self.noted) < self.most:
            # how many caches it has seen is told by a shape
            self.noted.append({"fed": ids.detach().clone(), "caches": ids.new_empty(len(held), 0)})
        x = self.embedding(ids)
        for i, block in enumerate(self.blocks):
            said = block(x)
            if caches is not None:
                said, _ = caches[i].update(said, said)
            x = x + torch.tanh(said.cumsum(-2)[:, -ids.shape[1] :])
        return self.head(x)


WIDTH = 8
# any power of two above it has as many codes
MOST_WORDS = 2**WIDTH


def linear_of(weight) -> nn.Linear:
    """Make a linear layer without a bias; its own weights would cost more than they do."""
    layer = nn.Linear.__new__(nn.Linear)
    nn.Module.__init__(layer)
    layer.out_features, layer.in_features = weight.shape
    layer.weight = nn.Parameter(weight)
    layer.register_parameter("bias", None)
    return layer


def model_of(embedding, blocks, head) -> Writer:
    model = Writer()
    model.noted = Noted()
    model.embedding = nn.Embedding(*embedding.shape, _weight=embedding)
    model.blocks = nn.ModuleList(map(linear_of, blocks))
    model.head = linear_of(head)
    return model


def a_writer(draw: Draw, words: int = 5, n_blocks: int = 2, loud: float = 1.0) -> Writer:
    blocks = [draw(WIDTH, WIDTH, scale=0.5) for _ in range(n_blocks)]
    return model_of(draw(words, WIDTH), blocks, draw(words, WIDTH, scale=loud))


def codes(draw: Draw, words: int):
    """Give each word a row of its own, of ones and minus ones: 8 fits itself, 6 the nearest."""
    places = torch.arange(WIDTH, device=draw.device)
    bits = torch.arange(words, device=draw.device)[:, None] >> places
    return ((bits & 1) * -2 + 1).to(draw.dtype)


def counting(draw: Draw, words: int = 211, n_blocks: int = 2) -> Writer:
    """Make a model that has learned to count: after word i comes word i + 1, and 0 in the end."""
    rows = codes(draw, words)
    blocks = [torch.zeros(WIDTH, WIDTH, dtype=draw.dtype, device=draw.device)] * n_blocks
    return model_of(rows, [one.clone() for one in blocks], rows.roll(1, 0))


def counted(ids, steps: int, words: int = 211):
    more = torch.arange(1, steps + 1, device=ids.device)
    return torch.cat([ids, (ids[:, -1:] + more) % words], 1)


@reference
def scores_of(model, ids):
    """Work out the logits of the last words in float64."""
    weights = {name: one.detach().double() for name, one in model.named_parameters()}
    x = weights["embedding.weight"][ids]
    for i in range(len(model.blocks)):
        said = linear(x, weights[f"blocks.{i}.weight"])
        sums = [said[:, : j + 1].sum(1) for j in range(said.shape[1])]
        x = x + torch.tanh(torch.stack(sums, 1))
    return linear(x[:, -1], weights["head.weight"])


@reference
def written(model, ids, steps):
    """Write greedily; return by how much the closest choice was clear, too."""
    clear = math.inf
    for _ in range(steps):
        scores = scores_of(model, ids)
        best, second = scores.topk(2, -1).values.unbind(-1)
        clear = min(clear, float((best - second).min()))
        ids = torch.cat([ids, scores.argmax(-1, keepdim=True)], 1)
    return ids, clear


def a_clear_text(draw: Draw, batch: int, n: int, steps: int, words: int = 5):
    """Draw until no choice is close."""
    for _ in range(200):
        model, ids = a_writer(draw, words, loud=1.5), draw.integers(0, words, batch, n)
        text, clear = written(model, ids, steps)
        if clear > 0.02:
            return model, ids, text
    raise ValueError(f"no clear text of {batch}, {n} and {steps}")


def drawn_text(draw: Draw, *, steps=3):
    return counting(draw, n_blocks=1), draw.integers(0, 211, 1, 1), steps


@reference
def counted_on(model, ids, steps):  # noqa: ARG001
    more = torch.arange(1, steps + 1, device=ids.device)
    return torch.cat([ids, (ids[:, -1:] + more) % 211], 1)


WRITES = "The prompts with what was"
FED = "The prompt is fed once"
FED_MOST = "For this it makes caches"
GREEDY = "0: nothing is drawn"
NO_TRACE = "Afterwards the weights of the model"
COSTS = [
    Growth(Case("generate", drawn_text, counted_on, slopes=False), "made", "steps", (3, 9), 1,
           FED_MOST, least=lambda steps: 211 * steps),
]  # fmt: skip


# What is refused


def block_of(answer, draw, d_model=12, n_heads=6, n_kv_heads=2, d_hidden=7):
    return answer.DecoderBlock(d_model, n_heads, n_kv_heads, d_hidden).to(draw.device)


def decoder_of(answer, draw):
    return answer.Decoder(11, 12, 2, 3).to(draw.device)


def block_read_after(shape, capacity=9):
    """Call a block with tokens of this shape, after 4 of a batch of 2."""

    def call(answer, draw):
        block, cache = block_of(answer, draw), cache_for(answer, capacity)
        block(draw(2, 4, 12), cache)
        return block(draw(*shape), cache)

    return call


def read_after(*shape, capacity=9):
    """Call a decoder with ids of this shape, after 4 of a batch of 2."""

    def call(answer, draw):
        model = decoder_of(answer, draw)
        caches = [cache_for(answer, capacity) for _ in range(2)]
        model(draw.integers(0, 11, 2, 4), caches)
        return model(draw.integers(0, 11, *shape), caches)

    return call


def reads_with(number):
    """Call a decoder of 2 blocks with so many caches."""
    return lambda a, d: decoder_of(a, d)(
        d.integers(0, 11, 2, 4), [cache_for(a, 9) for _ in range(number)]
    )


def lost(logits, ids):
    return lambda a, d: a.next_token_loss(d(*logits), d.integers(0, 3, *ids))


def written_with(*shape, steps=3, **more):
    return lambda a, d: a.generate(counting(d), d.integers(0, 211, *shape), steps, **more)


HEADS = "ValueError: CachedAttention refuses"
REFUSALS = [
    refusal(
        "rms_norm", "ValueError: `weight` is not a vector",
        *((f"`x` is [2, 5] and `weight` is {list(shape)}",
           lambda a, d, shape=shape: a.rms_norm(d(2, 5), d(*shape)))
          for shape in ((4,), (1,), (6,), (2,), (2, 5), (1, 5))),
        ("`x` is [5, 1] and `weight` is [5]", lambda a, d: a.rms_norm(d(5, 1), d(5))),
        ("`x` is [2, 5] and `weight` is []", lambda a, d: a.rms_norm(d(2, 5), d())),
    ),
    refusal(
        "rms_norm", "ValueError: `x` has no dimension.",
        ("`x` is [] and `weight` is [5]", lambda a, d: a.rms_norm(d(), d(5))),
    ),
    refusal(
        "DecoderBlock", HEADS,
        *((f"d_model is {d_model}, n_heads is {n_heads} and n_kv_heads is {n_kv_heads}",
           lambda a, d, sizes=(d_model, n_heads, n_kv_heads): block_of(a, d, *sizes))
          for d_model, n_heads, n_kv_heads in ((8, 3, 1), (15, 3, 1), (24, 6, 4), (24, 0, 1),
                                               (24, 6, 0))),
    ),
    refusal(
        "DecoderBlock", "ValueError: `x` has fewer than two dimensions",
        ("`x` is [12], with 1 dimension", lambda a, d: block_of(a, d)(d(12))),
        ("`x` is 9 wide and d_model is 12", lambda a, d: block_of(a, d)(d(2, 5, 9))),
        ("`x` is 1 wide and d_model is 12", lambda a, d: block_of(a, d)(d(2, 5, 1))),
    ),
    refusal(
        "DecoderBlock", "ValueError: the cache has no room",
        ("the cache holds 4 rows and has room for 9, and `x` has 6", block_read_after((2, 6, 12))),
        ("the cache has a batch of 2, and `x` of 3", block_read_after((3, 1, 12))),
    ),
    refusal(
        "Decoder", HEADS,
        *((f"d_model is {d_model}, n_heads is {n_heads} and n_kv_heads is {n_kv_heads}",
           lambda a, _, sizes=(d_model, 2, n_heads, n_kv_heads): a.Decoder(11, *sizes))
          for d_model, n_heads, n_kv_heads in ((8, 3, 1), (15, 3, None), (24, 6, 4), (24, 0, 1),
                                               (24, 6, 0))),
    ),
    refusal(
        "Decoder", "ValueError: `ids` does not have two dimensions.",
        *((f"`ids` is {list(shape)}, with {said}",
           lambda a, d, shape=shape: decoder_of(a, d)(d.integers(0, 11, *shape)))
          for shape, said in (((5,), "1 dimension"), ((2, 3, 5), "3 dimensions"))),
    ),
    refusal(
        "Decoder", "ValueError: there are more or fewer caches",
        ("there are 2 blocks and 1 cache", reads_with(1)),
        ("there are 2 blocks and 3 caches", reads_with(3)),
        ("there are 2 blocks and 0 caches", reads_with(0)),
    ),
    refusal(
        "Decoder", "ValueError: a cache has no room",
        ("the caches hold 4 rows and have room for 9, and there are 6 ids", read_after(2, 6)),
        ("the caches have a batch of 2, and `ids` of 3", read_after(3, 1)),
    ),
    refusal(
        "next_token_loss", "ValueError: `logits` does not have three dimensions",
        ("`logits` is [4, 3] and `ids` is [4], 2 and 1 dimensions", lost((4, 3), (4,))),
        ("`logits` is [4, 3] and `ids` is [2, 4], 2 and 2 dimensions", lost((4, 3), (2, 4))),
        ("`logits` is [2, 5, 4, 3] and `ids` is [2, 5], 4 and 2 dimensions",
         lost((2, 5, 4, 3), (2, 5))),
        ("`logits` is [2, 4, 3] and `ids` is [4], 3 and 1 dimensions", lost((2, 4, 3), (4,))),
        ("`logits` is [2, 4, 3] and `ids` is [2, 4, 1], 3 and 3 dimensions",
         lost((2, 4, 3), (2, 4, 1))),
    ),
    refusal(
        "next_token_loss", "ValueError: `logits` and `ids` differ",
        ("`logits` is [2, 4, 3] and `ids` is [2, 5]", lost((2, 4, 3), (2, 5))),
        ("`logits` is [2, 5, 3] and `ids` is [2, 4]", lost((2, 5, 3), (2, 4))),
        ("`logits` is [2, 4, 3] and `ids` is [3, 4]", lost((2, 4, 3), (3, 4))),
        ("`logits` is [2, 4, 3] and `ids` is [1, 4]", lost((2, 4, 3), (1, 4))),
        ("`logits` is [2, 6, 3] and `ids` is [4, 3]", lost((2, 6, 3), (4, 3))),
    ),
    refusal(
        "next_token_loss", "ValueError: n is below 2",
        ("`logits` is [2, 1, 3] and `ids` is [2, 1]", lost((2, 1, 3), (2, 1))),
    ),
    refusal(
        "generate", "ValueError: `ids` does not have two dimensions.",
        ("`ids` is [5], with 1 dimension", written_with(5)),
        ("`ids` is [2, 3, 5], with 3 dimensions", written_with(2, 3, 5)),
        ("`ids` is [5], with 1 dimension, and there are 0 steps", written_with(5, steps=0)),
    ),
    refusal(
        "generate", "ValueError: n is 0",
        ("`ids` is [2, 0]", written_with(2, 0)),
        ("`ids` is [2, 0], and there are 0 steps", written_with(2, 0, steps=0)),
    ),
    refusal(
        "generate", "ValueError: `steps` is below 0.",
        ("`steps` is -1", written_with(2, 3, steps=-1)),
        ("`steps` is -7", written_with(2, 3, steps=-7)),
    ),
    refusal(
        "generate", "ValueError: `temperature` is below 0.",
        ("`temperature` is -1", written_with(2, 3, temperature=-1.0)),
        ("`temperature` is -1, and there are 0 steps", written_with(2, 3, steps=0,
                                                                    temperature=-1.0)),
    ),
]  # fmt: skip
EXPLAINS = {
    "rms_norm": (),
    "DecoderBlock": (),
    "Decoder": (),
    "next_token_loss": (),
    "generate": (),
}
OWN_WORDS = (
    "rms_norm", "next_token_loss", "Decoder` ", "more or fewer caches", "`steps`", "n is 0",
    "two dimensions",
)  # fmt: skip
globals().update(checks_by_law(CASES, SPECIAL, in_any_words(REFUSALS, *OWN_WORDS), costs=COSTS))


# The norm, the block and the model


@check("rms_norm")
def test_rms_norm_by_hand(answer, draw):
    # the chapter's own example
    x, weight = draw.tensor([[1, 7], [2, 14]]), draw.tensor([1, 10])
    same(answer.rms_norm(x, weight), draw.tensor([[0.2, 14.0], [0.2, 14.0]]))


@check("rms_norm", cites="The rows x / sqrt")
def test_rms_norm_of_zeros_by_hand(answer, draw):
    x, weight = draw.tensor([[0, 0, 0, 0], [2, 0, 0, 0]]), draw.tensor([1, 2, 3, 4])
    same(answer.rms_norm(x, weight, 3.0), draw.tensor([[0, 0, 0, 0], [1, 0, 0, 0]]))


@check("DecoderBlock", cites=READY_MADE)
def test_block_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [BLOCK, reading((3, 1))])


@check("Decoder", cites=READY_MADE)
def test_decoder_is_your_own(answer, draw):
    your_own(answer, draw, READY_ATTENTION, [DECODER, writing((3, 1))])


PARTS = ["norm_1:", "attention:", "norm_2:", "gate:", "up:", "down:"]


@check("DecoderBlock", cites=["The block has these parts", *PARTS])
def test_block_has_its_parts(answer, draw):
    for sizes in ((24, 6, 2, 7), (12, 3, None, 31)):
        BLOCK.make(answer, (sizes, block_weights(draw, *sizes)))
        block = answer.DecoderBlock(*sizes)
        for name in ("norm_1", "norm_2"):
            begins_with_ones(block, name, sizes[0], draw)


def begins_with_ones(module, name, d_model, draw):
    weight = module.get_parameter(name).detach().to(draw.device)
    ones = torch.ones(d_model, device=draw.device)
    same(weight, ones, label=f"`{name}` of a new module")


@check(
    "Decoder",
    cites=["The model has these parts", "`head` and `embedding` share", "embedding:", "blocks:",
           "norm:", "head:"],
)  # fmt: skip
def test_decoder_has_its_parts(answer, draw):
    for sizes in ((13, 24, 3, 6, 2), (12, 12, 1, 3)):
        DECODER.make(answer, (sizes, decoder_weights(draw, *sizes)))
        model = answer.Decoder(*sizes)
        begins_with_ones(model, "norm", sizes[1], draw)
        begins_with_ones(model, "blocks.0.norm_2", sizes[1], draw)


@check("DecoderBlock", cites="Both norms are `rms_norm`")
def test_block_adds_its_eps(answer, draw):
    """Let the rows be so small that eps decides about them."""
    made, weights, (x,) = a_block(draw, 2)
    block, x = BLOCK.make(answer, (made, weights)), 1e-3 * x
    same(block(x), block_rows(exact(weights), exact(x), made=made), like=x)


@check("DecoderBlock", about="calls", cites="None: `x` is the whole text")
def test_block_takes_no_cache(answer, draw):
    made, weights, (x,) = a_block(draw, 2)
    block, want = BLOCK.make(answer, (made, weights)), None
    want = block_rows(exact(weights), exact(x), made=made)
    for said, ask in (("without a cache", lambda: block(x)), ("None", lambda: block(x, None)),
                      ("cache=None", lambda: block(x, cache=None))):  # fmt: skip
        with situation(said):
            same(ask(), want, like=x)


@check("Decoder", cites="The logits [batch, n, vocab_size], in the dtype")
def test_decoder_adds_its_eps(answer, draw):
    made, weights, (ids,) = a_decoder(draw)
    weights["embedding.weight"] *= 1e-3
    for name in ("attention.w_o", "down"):
        for i in range(made[2]):
            weights[f"blocks.{i}.{name}.weight"] *= 1e-3
    model = DECODER.make(answer, (made, weights))
    same(model(ids), decoder_logits(exact(weights), ids, made=made), like=weights["norm"])


@check("Decoder", about="calls", cites="None: `ids` is the whole text")
def test_decoder_takes_no_caches(answer, draw):
    made, weights, (ids,) = a_decoder(draw)
    model = DECODER.make(answer, (made, weights))
    want = decoder_logits(exact(weights), ids, made=made)
    for said, ask in (("without caches", lambda: model(ids)), ("None", lambda: model(ids, None)),
                      ("caches=None", lambda: model(ids, caches=None))):  # fmt: skip
        with situation(said):
            same(ask(), want, like=weights["norm"])


@check("DecoderBlock", about="calls", cites="Those of `x` are added")
def test_block_fills_the_cache(answer, draw):
    made, weights, (x,) = a_block(draw, 2)
    block, cache = BLOCK.make(answer, (made, weights)), cache_for(answer, 9)
    for begin, end in ((0, 3), (3, 4), (4, 5)):
        block(x[:, begin:end], cache)
        equal(answer.attribute(cache, "length"), end, label="`cache.length`")


@check("DecoderBlock", about="calls", cites="Those of `x` are added")
def test_block_adds_nothing_on_the_way_back(answer, draw):
    made, weights, (x,) = a_block(draw, 2)
    block, cache = BLOCK.make(answer, (made, weights)), cache_for(answer, 2 * x.shape[-2])
    want = block_rows(exact(weights), exact(x), made=made)
    given = leaf(x)
    got = block(given, cache)
    same(got, want, like=x)
    pulled(got, [given], torch.ones_like(got))
    equal(answer.attribute(cache, "length"), x.shape[-2], label="`cache.length` after backward")


@check("Decoder", about="calls", cites="Those of `ids` are added")
def test_decoder_fills_each_cache(answer, draw):
    made, weights, (ids,) = a_decoder(draw)
    model, caches = DECODER.make(answer, (made, weights)), [cache_for(answer, 9) for _ in "ab"]
    for begin, end in ((0, 3), (3, 4), (4, 5)):
        model(ids[:, begin:end], caches)
        for i, cache in enumerate(caches):
            equal(answer.attribute(cache, "length"), end, label=f"`caches[{i}].length`")


@check("Decoder", cites="Row i knows the words")
def test_decoder_does_not_see_ahead(answer, draw):
    made, weights, (ids,) = a_decoder(draw, n=7)
    model, other = DECODER.make(answer, (made, weights)), ids.clone()
    other[:, 4:] = (other[:, 4:] + 1) % 11
    for given in (ids, other):
        want = decoder_logits(exact(weights), given, made=made)
        same(model(given), want, like=weights["norm"])


@check("next_token_loss")
def test_next_token_loss_by_hand(answer, draw):
    # the chapter's own example
    logits = draw.tensor([[[1, 2, 1], [5, 2, 1], [3, 4, 1]]]).log()
    got = answer.next_token_loss(logits, draw.tensor([[0, 1, 2]], torch.int64))
    same(got, draw.tensor(2 * math.log(2)))


@check("next_token_loss", cites="The last row of logits")
def test_next_token_loss_leaves_the_ends_out(answer, draw):
    logits, ids = logits_and_ids(draw)
    want = next_token_loss(exact(logits), ids)
    for said, row, first in (("other last logits", 50.0, 0), ("another first id", 0.0, 1)):
        with situation(said):
            more, others = logits.clone(), ids.clone()
            more[:, -1] += row * draw(3, 7)
            others[:, 0] = (others[:, 0] + first) % 7
            same(answer.next_token_loss(more, others), want, like=logits)


# Writing


@check("generate", cites=WRITES)
@vary("sizes", [(1, 1, 5), (2, 3, 4), (3, 5, 1), (1, 7, 9)])
def test_generate_greedily(answer, draw, sizes):
    batch, n, steps = sizes
    for _ in range(2):
        model, ids, text = a_clear_text(draw, batch, n, steps)
        same(answer.generate(model, ids, steps), text)


@check("generate", about="edges", cites=WRITES)
def test_generate_nothing(answer, draw):
    model = a_writer(draw)
    for n in (3, 1):
        ids = draw.integers(0, 5, 2, n)
        for more in ((), (1.0,), (1.0, draw.generator(1))):
            with situation(f"{n} words before"):
                same(answer.generate(model, ids, 0, *more), ids)


@check("generate", cites=GREEDY)
@vary("n_blocks", [1, 3])
def test_generate_counts_on(answer, draw, n_blocks):
    ids = draw.integers(0, 200, 3, 4)
    for said, more in (("temperature left out", ()), ("temperature=0", (0,)), ("0.0", (0.0,))):
        with situation(said):
            same(answer.generate(counting(draw, n_blocks=n_blocks), ids, 5, *more), counted(ids, 5))
    with situation("a long prompt"):
        ids = draw.integers(0, 200, 1, 137)
        same(answer.generate(counting(draw, n_blocks=n_blocks), ids, 3), counted(ids, 3))


@check("generate", about="shapes", cites=Rule("sizes"))
def test_generate_drawn(answer, draw):
    for batches, counts, steps in (
        ((1,), range(20, 131), range(1, 9)), (range(2, 9), range(2, 9), range(9, 23)),
        (range(20, 41), (1,), range(1, 3)),
    ):  # fmt: skip
        batch, n, more = draw.one_of(batches), draw.one_of(counts), draw.one_of(steps)
        words = draw.one_of(range(100, MOST_WORDS))
        ids = draw.integers(0, words, batch, n)
        with situation("sizes that were drawn"):
            got = answer.generate(counting(draw, words, draw.one_of((1, 2, 3))), ids, more)
            same(got, counted(ids, more, words))


@check("generate", about="dtypes", cites=Rule("dtype"))
@vary("dtype", [torch.float64, torch.float16, torch.bfloat16])
def test_generate_dtypes(answer, draw, dtype):
    ids = draw.integers(0, 200, 2, 3)
    for more in ((), (0.01, draw.generator(1))):
        same(answer.generate(counting(draw.using(dtype)), ids, 4, *more), counted(ids, 4))


def fed_in(model) -> int:
    return sum(one["fed"].numel() for one in model.noted)


@check("generate", cites=FED)
def test_generate_feeds_each_word_once(answer, draw):
    # more steps than the room that is often made at first
    for batch, n, steps, *more in ((1, 5, 7), (3, 4, 6), (1, 3, 67), (2, 3, 8, 1e-3)):
        model, ids = counting(draw), draw.integers(0, 200, batch, n)
        same(answer.generate(model, ids, steps, *more), counted(ids, steps))
        holds(bool(model.noted), "the model", "it was never called", 0)
        fed, most = fed_in(model), batch * (n + steps)
        holds(
            fed <= most, "the words that the model is fed",
            f"of {batch} prompts of {n} words and {steps} steps, {fed} words were fed, and {most} "
            "are enough: the prompt once, and then the newest word in each step", fed,
        )  # fmt: skip


@check("generate", about="calls", cites=NO_TRACE)
@vary("training", [True, False])
def test_generate_leaves_the_training_flags(answer, draw, training):
    model, ids = counting(draw).train(training), draw.integers(0, 200, 2, 3)
    model.blocks[0].train(not training)
    before = {name: part.training for name, part in model.named_modules()}
    for more in ((), (1e-3, draw.generator(1))):
        same(answer.generate(model, ids, 3, *more), counted(ids, 3))
        after = {name: part.training for name, part in model.named_modules()}
        others = [name or "model" for name, flag in before.items() if after[name] != flag]
        said = f"{' and '.join(others)}: another one than before the call"
        holds(not others, "the training flags", said, after)


@check("generate", about="calls", cites=NO_TRACE)
def test_generate_leaves_no_trace(answer, draw):
    model, ids = counting(draw), draw.integers(0, 200, 2, 3)
    model.head.weight.grad = draw(211, WIDTH)
    slope = model.head.weight.grad.clone()
    start = {name: one.detach().clone() for name, one in model.named_parameters()}
    same(answer.generate(model, ids, 3), counted(ids, 3))
    for name, weight in model.named_parameters():
        unchanged(weight.detach(), start[name], f"model.{name}")
        holds(weight.requires_grad, f"`model.{name}`", "it no longer wants gradients")
    left = model.head.weight.grad
    kept = left is not None and torch.equal(left, slope)
    holds(kept, "`model.head.weight.grad`", "the gradient that was there is gone, or another one")
    grad = model.embedding.weight.grad
    holds(grad is None, "`model.embedding.weight.grad`", "the call left a gradient")


@check("generate", about="calls", cites=LEAVES)
def test_generate_inputs_unchanged(answer, draw):
    ids = draw.integers(0, 200, 2, 3)
    before = ids.clone()
    with torch.no_grad():  # who switches gradients on at the end may be called with them off
        same(answer.generate(counting(draw), ids.clone(), 4), counted(before, 4))
    got = answer.generate(model=counting(draw), ids=ids, steps=4)
    unchanged(answer.became(ids), before, "ids")
    same(got, counted(before, 4))


@check("generate", about="calls", cites=Rule("strides"))
def test_generate_strides(answer, draw):
    ids = draw.integers(0, 200, 3, 2).t()
    same(answer.generate(counting(draw), ids, 4), counted(ids.contiguous(), 4))


@check("generate", about="calls", cites=Rule("arguments"))
def test_generate_arguments(answer, draw):
    model, ids = counting(draw), draw.integers(0, 200, 2, 3)
    for given in (
        {}, {"temperature": 0.0}, {"temperature": 1e-3, "generator": None},
        {"generator": draw.generator(1)}, {"generator": draw.generator(1), "temperature": 1e-3},
    ):  # fmt: skip
        with situation(", ".join(["model, ids, steps", *given])):
            same(answer.generate(model=model, ids=ids, steps=4, **given), counted(ids, 4))


@check("generate", about="calls", cites="Calls share nothing")
def test_generate_again(answer, draw):
    """Write other texts with the same model, of another batch, and once more the first."""
    model, ids, text = a_clear_text(draw, 2, 3, 4)
    same(answer.generate(model, ids, 4), text)
    said = "the text of a second call, of one of the prompts, turned round"
    other = ids[:1].flip(1)
    for _ in range(2):
        want, clear = written(model, other, 3)
        with later_call():
            if clear > 1e-3:
                same(answer.generate(model, other, 3), want, label=said)
            same(answer.generate(model, ids, 4), text, label="the text of the first call, again")


@check("generate", about="calls", cites="Calls share nothing")
def test_generate_makes_its_own_caches(answer, draw):
    model, ids = counting(draw), draw.integers(0, 200, 2, 3)
    for turn, temperature in enumerate((0.0, 1e-3, 0.0), 1):
        same(answer.generate(model, ids, 4, temperature), counted(ids, 4))
        seen, wanted = len(model.noted[-1]["caches"]), turn * len(model.blocks)
        holds(
            seen >= wanted, "the caches",
            f"the model has {len(model.blocks)} blocks, and after call {turn} it has been asked "
            f"with {seen} different caches", seen,
        )  # fmt: skip


@check("generate", about="devices", cites=Rule("device"))
def test_generate_is_device_ready(answer, draw):
    ids = draw.integers(0, 200, 2, 3)

    def run(_):
        same(answer.generate(counting(draw), ids, 3), counted(ids, 3))
        same(answer.generate(counting(draw), ids, 3, 1e-3), counted(ids, 3))

    on_a_gpu(answer, draw, run, allowed=("round", "waits"))


# Writing by chance. Words are counted over many texts; what is right stays within five deviations,
# which a right answer leaves about once in a million times.

TEXTS, CHANCE = 1500, 5


@reference
def pair_shares(model, first, temperature):
    """Work out how often each two words follow a prompt."""
    words = model.head.weight.shape[0]
    one = softmax64(scores_of(model, first) / temperature)[0]
    both = [
        one[i] * softmax64(scores_of(model, torch.cat([first, first.new_full((1, 1), i)], 1))
                           / temperature)[0]
        for i in range(words)
    ]  # fmt: skip
    return torch.stack(both)


def by_chance(draw: Draw, words: int = 3):
    """Draw a model and a prompt, whose two next words are all likely and not alike."""
    for _ in range(200):
        model, first = a_writer(draw, words, 2, 0.2), draw.integers(0, words, 1, 3)
        shares = pair_shares(model, first, 1.0)
        if shares.min() > 0.03 and shares.max() > 0.2:
            return model, first
    raise ValueError("nothing likely")


def pairs_in(texts, n: int, words: int = 3):
    """Count the pairs of words that follow prompts of n words."""
    pairs = texts[:, n] * words + texts[:, n + 1]
    return torch.bincount(pairs, minlength=words * words)[: words * words].reshape(words, words)


def within_chance(counts, shares) -> bool:
    count = int(counts.sum())
    off = (counts - count * shares).abs()
    return bool((off <= CHANCE * (count * shares * (1 - shares)).sqrt() + 2).all())


def follows(counts, known) -> str:
    """Say what the words were drawn from, for those who have made the same mistake."""
    return next((name for name, shares in known.items() if within_chance(counts, shares)), "other")


def all_there(got, ids) -> None:
    same(got[:, : ids.shape[1]], ids, label="the prompts in what comes out")
    texts, wanted = list(got.shape), [len(ids), ids.shape[1] + 2]
    holds(texts == wanted, "what comes out", f"it is {texts}, not {wanted}")


@check("generate", cites="The next word is drawn")
@vary("temperature", [1.0, 0.5, 2.0])
def test_generate_draws(answer, draw, temperature):
    model, first = by_chance(draw)
    known = {
        name: pair_shares(model, first, at)
        for name, at in (
            ("right", temperature), ("multiplied", 1 / temperature), ("twice", temperature**2),
            ("ignored", 1.0), ("root", temperature**0.5),
        )
    }  # fmt: skip
    ids = first.expand(TEXTS, -1).contiguous()
    got = answer.generate(model, ids, 2, temperature, draw.generator(temperature))
    all_there(got, ids)
    counts, shares = pairs_in(got.cpu(), 3).double(), known["right"].cpu()
    known = {name: one.cpu() for name, one in known.items()}
    worst = int(((counts - TEXTS * shares).abs() / (shares * (1 - shares)).sqrt()).argmax())
    i, j = worst // 3, worst % 3
    what = follows(counts, known)
    if int((counts > 0).sum()) == 1:
        others = (draw.generator((temperature, seed)) for seed in range(9))
        texts = (answer.generate(model, ids, 2, temperature, one) for one in others)
        what = "nothing" if all(torch.equal(got, one) for one in texts) else "one for all"
    holds(
        within_chance(counts, shares), f"{TEXTS} texts drawn at temperature {temperature}",
        f"words {i} and {j} follow the prompt {int(counts[i, j])} times, expected about "
        f"{TEXTS * float(shares[i, j]):.0f}", what,
    )  # fmt: skip


@check("generate", cites="The next word is drawn")
def test_generate_at_extremes(answer, draw):
    """Catches a temperature that multiplies: next to 0 it is the largest logit."""
    model, ids, text = a_clear_text(draw, 2, 3, 4)
    same(answer.generate(model, ids, 4, 1e-3, draw.generator(1)), text)
    many = ids[:1].expand(300, -1).contiguous()
    got = answer.generate(model, many, 1, 1e6, draw.generator(2))
    counts = torch.bincount(got[:, -1].cpu().clamp(0, 4), minlength=5).double()
    holds(
        within_chance(counts, torch.full((5,), 0.2).double()), "300 texts at temperature 1e6",
        f"the 5 words come {[int(one) for one in counts]} times, expected about 60 each",
        follows(counts, {}),
    )  # fmt: skip


@check("generate", cites="The next word is drawn")
def test_generate_draws_from_all_words(answer, draw):
    """Catches a top_k that was left in: the words are nearly alike, and no two quite.

    A low temperature draws, too: only 0 takes the largest.
    """
    model, ids = a_writer(draw, 97, loud=0.001), draw.integers(0, 97, 1, 2).expand(300, -1)
    got = answer.generate(model, ids.contiguous(), 1, 0.05, draw.generator(1))
    same(got[:, :2], ids, label="the prompts in what comes out")
    came = len(got[:, 2:].unique())
    said = f"of 97 words that are about as likely, {came} came in 300 texts"
    holds(came > 75, "the words that are drawn", said, "one" if came == 1 else "left out")


@check("generate", about="calls", cites=GREEDY)
def test_generate_draws_nothing_at_0(answer, draw):
    model, first = by_chance(draw)
    ids, used = first.expand(60, -1).contiguous(), draw.generator(1)
    same(answer.generate(counting(draw), ids, 3, 0.0, used), counted(ids, 3))
    went_on, anew = (answer.generate(model, ids, 3, 1.0, g) for g in (used, draw.generator(1)))
    said = "after a call at temperature 0 it gives other numbers: there nothing is drawn"
    holds(torch.equal(went_on, anew), "`generator`", said, "drawn")


SEEDED = "The same seed writes the same text"


@check("generate", cites=SEEDED)
def test_generate_draws_with_the_generator(answer, draw):
    model, first = by_chance(draw)
    # so many steps that two texts are not the same by chance, even where all of a batch are one
    ids, steps = first.expand(60, -1).contiguous(), 11
    answer.seed(1)
    one = answer.generate(model, ids, steps, 1.0, draw.generator(1))
    answer.seed(2)
    again = answer.generate(model, ids, steps, 1.0, draw.generator(1))
    holds(
        torch.equal(one, again), "two generators with the same seed",
        "the texts differ: not every word was drawn with `generator`", "own",
    )  # fmt: skip
    other = answer.generate(model, ids, steps, 1.0, draw.generator(3))
    holds(
        not torch.equal(one, other), "two generators with other seeds",
        "the texts are the same: nothing was drawn with `generator`", "fixed",
    )  # fmt: skip
    going_on = draw.generator(1)
    texts = [answer.generate(model, ids, steps, 1.0, going_on) for _ in range(2)]
    holds(
        not torch.equal(*texts), "one generator, two calls",
        "the texts are the same: the generator does not go on", "anew",
    )  # fmt: skip


@check("generate", about="calls", cites="None: the generator that torch")
def test_generate_draws_by_default(answer, draw):
    model, first = by_chance(draw)
    ids, texts = first.expand(60, -1).contiguous(), []
    for seed in (1, 1, 2):
        answer.seed(seed)
        texts.append(answer.generate(model, ids, 3, 1.0))
    again, others = torch.equal(*texts[:2]), not torch.equal(*texts[1:])
    said = "with torch's own generator at one seed the texts differ, or at two seeds they do not"
    holds(again and others, "texts drawn without `generator`", said, [again, others])
    before = answer.random_states()
    answer.generate(model, ids, 2, 1.0, draw.generator(1))
    untouched = all(map(torch.equal, before, answer.random_states()))
    said = "its state changed, although `generator` was given: nothing else is to be drawn from"
    holds(untouched, "torch's own generator", said, "seeded")


@check("generate", cites="Each text of a")
def test_generate_draws_each_text_by_itself(answer, draw):
    """Catches numbers that serve all texts of a batch, or all steps."""
    model, first = by_chance(draw)
    shares, ids = pair_shares(model, first, 1.0).cpu(), first.expand(TEXTS, -1).contiguous()
    got = answer.generate(model, ids, 2, 1.0, draw.generator(1))
    all_there(got, ids)
    counts = pairs_in(got.cpu(), 3).double()
    alone = int((counts > 0).sum())
    holds(
        alone > 1, f"{TEXTS} texts", "they are all the same: each is drawn by itself",
        follows(counts, {"right": shares}),
    )  # fmt: skip
    same_rows = torch.equal(got[: TEXTS // 2], got[TEXTS // 2 :])
    holds(not same_rows, f"{TEXTS} texts", "their halves are the same", "halves")


# All of it: your model learns a text, and writes it

LINES = """
    this is the house that jack built
    this is the malt that lay in the house that jack built
"""
RHYME = LINES.split()
VOCABULARY = sorted(set(RHYME))


@check("generate", cites=GREEDY, core=False, telling=False)
def test_generate_writes_as_the_decoder_reads(answer, draw):
    """Catches whatever makes writing with caches differ from reading the whole text."""
    model = answer.Decoder(11, 12, 2, 6, 2).to(draw.device)
    ids, caches = draw.integers(0, 11, 3, 4), [cache_for(answer, 5) for _ in "ab"]
    with torch.no_grad():  # what cannot read cannot write
        for given in (ids, ids[:, :1]):
            same(model(given, caches).shape, (*given.shape, 11), label="the shape of the logits")
    text = answer.generate(model, ids, 8)
    same(text[:, :4], ids, label="the prompts in what comes out")
    holds(text.shape == (3, 12), "what comes out", f"it is {list(text.shape)}, not [3, 12]")
    with torch.no_grad():
        logits = model(text[:, :-1])[:, 3:].double()
    chosen = logits.gather(-1, text[:, 4:, None]).squeeze(-1)
    behind = float((logits.amax(-1) - chosen).max())
    said = f"a word that was written has a logit {behind:.3g} below the largest of the whole pass"
    holds(behind < 1e-3, "what was written with caches", said, "differs")


@check("generate", cites="Write on, word by word", core=False, telling=False)
def test_generate_writes_the_rhyme(answer, draw):
    # end to end: your model learns 18 words of a nursery rhyme, and writes them
    ids = draw.tensor([[VOCABULARY.index(word) for word in RHYME]], torch.int64)
    # an unlucky start is nobody's mistake: a second model begins anew
    for _ in range(2):
        model = answer.Decoder(len(VOCABULARY), 16, 2, 2, 1).to(draw.device)
        sure, loss = learned(answer, model, ids)
        if sure:
            break
    said = f"after {MOST_STEPS} steps with your loss, {loss:.3g} in the end, it is not learned"
    holds(sure, "the rhyme", said, "not learned")
    text = answer.generate(model, ids[:, :3], len(RHYME) - 3)
    got = " ".join(VOCABULARY[i] for i in text[0].tolist())
    equal(got, " ".join(RHYME), label="what the model writes after three words")


MOST_STEPS = 240


def learned(answer, model, ids) -> tuple[bool, float]:
    """Train until each word after the third is guessed without doubt; return the loss, too.

    It is Adam by hand: to import torch.optim takes longer than all of this chapter's checks.
    """
    weights = list(model.parameters())
    means, sizes = ([torch.zeros_like(one) for one in weights] for _ in "ab")
    for step in range(1, MOST_STEPS + 1):
        logits = model(ids)
        loss = answer.next_token_loss(logits, ids)
        right = logits.detach()[0, 2:-1].gather(-1, ids[0, 3:, None])
        others = logits.detach()[0, 2:-1].scatter(-1, ids[0, 3:, None], -math.inf)
        if (right > others.amax(-1, keepdim=True) + 0.1).all():
            return True, loss.item()
        slopes = torch.autograd.grad(loss, weights)
        with torch.no_grad():
            for weight, mean, size, slope in zip(weights, means, sizes, slopes, strict=True):
                mean.mul_(0.9).add_(0.1 * slope)
                size.mul_(0.999).add_(0.001 * slope**2)
                spread = (size / (1 - 0.999**step)).sqrt() + 1e-8
                weight.sub_(0.02 * mean / (1 - 0.9**step) / spread)
    return False, loss.item()
