import torch

no = lambda *ts: (_ for _ in ()).throw(
    ValueError(" / ".join(f"{t.ndim}d {[*t.shape]}" for t in ts))
)
causal_mask = lambda n, device=None: (i := torch.arange(n, device=device)) <= i[:, None]
padding_mask = lambda lengths, n: (
    torch.arange(n, device=lengths.device) < lengths.long()[:, None]
    if lengths.ndim == 1
    else no(lengths)
)
decoder_mask = lambda lengths, n: padding_mask(lengths, n)[:, None] & causal_mask(n, lengths.device)


def apply_mask(scores, mask):
    s, m = (t.shape[::-1] for t in (scores, mask))
    len(m) <= len(s) and all(a in (1, b) for a, b in zip(m, s)) or no(scores, mask)
    return scores.masked_fill(~mask, -torch.inf)
