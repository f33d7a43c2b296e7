"""Which of the right answers in `grader/proof/variants` are worth a student's look.

Most were written to be unlike all others, by recursion or with a backward pass of their own. That
is good for proving the checks and teaches little. Of a function that is not listed all count.
"""

from __future__ import annotations

WORTH_SHOWING: dict[str, tuple[str, ...]] = {
    "ex01_scores.dot_product": ("additive_masks", "einsum", "log_space"),
    "ex01_scores.naive_scores": ("additive_masks", "einsum", "reuse"),
    "ex01_scores.project_rows": ("additive_masks", "beginner", "einsum"),
    "ex01_scores.project_linear": ("additive_masks", "einsum", "small_steps"),
    "ex01_scores.project_columns": ("beginner", "reuse", "tensordot"),
    "ex01_scores.dot_product_scores": ("additive_masks", "einsum", "log_space"),
    "ex02_scaling.scale_scores": ("each_from_the_last", "small_steps", "library"),
    "ex02_scaling.scaled_scores": ("views", "small_steps", "einsum"),
    "ex02_scaling.score_spread": ("small_steps", "einsum", "reuse"),
    "ex03_masking.causal_mask": ("small_steps", "reuse", "views", "tensordot"),
    "ex03_masking.padding_mask": ("loops", "reuse", "additive_masks"),
    "ex03_masking.decoder_mask": ("library", "small_steps", "additive_masks"),
    "ex03_masking.apply_mask": ("additive_masks", "einsum", "dataclasses"),
    "ex04_softmax.softmax": ("additive_masks", "einsum", "small_steps"),
    "ex04_softmax.attention_weights": ("views", "einsum", "small_steps"),
    "ex05_mixing.linear_combination": ("einsum", "small_steps", "reuse"),
    "ex05_mixing.mix_values": ("additive_masks", "einsum", "reuse"),
    "ex05_mixing.attention": ("library", "small_steps", "einsum"),
    "ex05_mixing.self_attention": ("small_steps", "each_from_the_last", "tensordot"),
    "ex05_mixing.cross_attention": ("library", "log_space", "small_steps", "tensordot"),
    "ex06_heads.split_heads": ("small_steps", "library", "views"),
    "ex06_heads.merge_heads": ("loops", "einsum", "views"),
    "ex06_heads.multi_head": ("small_steps", "library", "loops"),
    "ex06_heads.MultiHeadAttention": ("log_space", "reuse", "small_steps"),
    "ex07_model.positional_encoding": ("additive_masks", "small_steps", "einsum"),
    "ex07_model.encode_words": ("loops", "small_steps", "einsum"),
    "ex07_model.mean_pool": ("additive_masks", "einsum", "small_steps"),
    "ex07_model.NextWordModel": ("each_from_the_last", "small_steps", "einsum", "library"),
    "ex07_model.train": ("einsum", "reuse", "additive_masks", "small_steps"),
    "ex07_model.predict": ("each_from_the_last", "einsum", "loops"),
}
