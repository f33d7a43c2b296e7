import torch

from ex02_scaling import scaled_scores
from ex03_masking import apply_mask

softmax = lambda scores, dim=-1: (
    (
        e := (u := scores.float() if scores.itemsize < 3 else scores)
        .sub(u.detach().amax(dim, True).clamp(torch.finfo(u.dtype).min))
        .exp()
    )
    .div((z := e.sum(dim, True)) + (z == 0))
    .to(scores.dtype)
    if scores.numel()
    else scores * 1
)
attention_weights = lambda query, key, mask=None: softmax(
    s if (s := scaled_scores(query, key)) is not None and mask is None else apply_mask(s, mask)
)
