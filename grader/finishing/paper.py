"""What the paper's figures show, which functions of the kit are that, and what to read next."""

from __future__ import annotations

from dataclasses import dataclass

ORDER = "in the order in which a sentence goes through its figures."
PAPER = 'the parts of "Attention Is All You Need" (2017)'
BUILT = ("What you have built", f"{PAPER} that are now yours, {ORDER}")
BUILDING = ("What you are building", f"{PAPER}, {ORDER} Not all of it runs yet.")


@dataclass(frozen=True)
class Box:
    """A box of the figures.

    Attributes:
        box: what stands in it.
        names: the functions that are that, in full.
        adds: what else there is to say.
    """

    box: str
    names: tuple[str, ...]
    adds: str = ""


FIGURES: dict[str, tuple[Box, ...]] = {
    "Figure 1, at the foot: words become vectors.": (
        Box("Input embedding", ("ex07_model.encode_words",), "and your model's `embedding`"),
        Box("Positional encoding", ("ex07_model.positional_encoding",)),
    ),
    "Figure 2, left: scaled dot-product attention.": (
        Box("MatMul of Q and K", ("ex01_scores.dot_product_scores",)),
        Box("Scale", ("ex02_scaling.scale_scores",)),
        Box("Mask (opt.)", ("ex03_masking.apply_mask",)),
        Box("SoftMax", ("ex04_softmax.softmax",)),
        Box("MatMul with V", ("ex05_mixing.mix_values",)),
        Box("all of it", ("ex05_mixing.attention",)),
    ),
    "Figure 2, right: multi-head attention.": (
        Box("Linear", ("ex06_heads.MultiHeadAttention",), "its w_q, w_k, w_v"),
        Box("h heads", ("ex06_heads.split_heads", "ex06_heads.multi_head")),
        Box("Concat", ("ex06_heads.merge_heads",)),
        Box("Linear", ("ex06_heads.MultiHeadAttention",), "its w_o"),
    ),
    "Figure 1, the three arrows into attention.": (
        Box("Multi-head attention (encoder)", ("ex05_mixing.self_attention",)),
        Box("Masked multi-head attention",
             ("ex03_masking.causal_mask", "ex03_masking.decoder_mask")),
        Box("Multi-head attention (decoder on encoder)", ("ex05_mixing.cross_attention",)),
    ),
    "Figure 1, at the top: vectors become a word.": (
        Box("Linear", ("ex07_model.NextWordModel",), "its `head`, after the mean of the rows"),
        Box("Softmax", ("ex07_model.train", "ex07_model.predict"),
             "inside the loss, and as the largest logit"),
    ),
}  # fmt: skip

IN_PLACES_TODAY = "What stands in these places in the models of today."
# shown of the chapters that are begun
TODAY: tuple[Box, ...] = (
    Box("Positional encoding", ("ex08_positions.rotary_scores",), "queries and keys are turned"),
    Box("h heads", ("ex09_groups.GroupedQueryAttention",), "fewer of keys than of queries"),
    Box("Mask (opt.)", ("ex10_window.window_attention",), "and what it closes is never made"),
    Box("Masked multi-head attention", ("ex11_cache.CachedAttention",), "which remembers its rows"),
    Box("Scaled dot-product attention", ("ex12_flash.flash_attention",), "a tile at a time"),
    Box("Add & Norm", ("ex13_decoder.rms_norm", "ex13_decoder.DecoderBlock"),
         "the norm first, then the sum"),
    Box("Feed forward", ("ex13_decoder.DecoderBlock",), "its gate, up and down"),
    Box("N x", ("ex13_decoder.Decoder",), "its blocks"),
    Box("Softmax", ("ex13_decoder.generate",), "word by word, until a text is there"),
)  # fmt: skip
# the chapter that builds what the first seven leave out
DECODER = "ex13_decoder"

NOT_BUILT = (
    "Feed forward: two linear layers with a ReLU between them, for each position by itself.",
    "Add & Norm: what goes into a part is added to what comes out of it (the residual), then "
    "layer norm.",
    "N x: six such layers on one another, in an encoder and in a decoder. Yours has one layer, and "
    "takes the mean of its rows where the decoder names a word at every position.",
)
BUILT_BEYOND = f"All three are built beyond the seven chapters, in {DECODER}."
NOT_BUILT_BESIDE_A_DECODER = (
    "An encoder beside the decoder: layers without a causal mask, which read another text. The "
    "decoder looks at what they make of it through cross-attention.",
)

READ_NEXT = (
    'Vaswani and others, "Attention Is All You Need" (2017): you can read section 3 as a list of '
    "your own functions. New is 3.3, the feed-forward part.",
    'Bahdanau, Cho and Bengio, "Neural Machine Translation by Jointly Learning to Align and '
    'Translate" (2015): where attention comes from, with a small network for the scores.',
    'Jay Alammar, "The Illustrated Transformer": the same figures, drawn step by step.',
    'Alexander Rush, "The Annotated Transformer": the whole paper as PyTorch, with the parts that '
    "you have not built.",
    'Andrej Karpathy, "Let\'s build GPT: from scratch, in code, spelled out": causal attention, '
    "stacked, trained on a book.",
    'Dao and others, "FlashAttention" (2022): those numbers without a matrix [n, n] in memory.',
    "And the five documents once more, 000 to 004: check what they say against your own code.",
)
