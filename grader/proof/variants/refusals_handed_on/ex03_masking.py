import torch


def causal_mask(n, device=None):
    rows, cols = torch.tril_indices(n, n, device=device)
    mask = torch.zeros(n, n, dtype=torch.bool, device=device)
    mask[rows, cols] = True
    return mask


def padding_mask(lengths, n):
    if lengths.dim() != 1:
        raise ValueError("lengths has sizes " + " by ".join(map(str, lengths.shape)))
    return torch.stack([torch.arange(n, device=lengths.device) < int(m) for m in lengths.tolist()])


def decoder_mask(lengths, n):
    pad = padding_mask(lengths, n)
    return torch.tril(pad.unsqueeze(-2).expand(-1, n, n))


def apply_mask(scores, mask):
    try:
        fits = torch.broadcast_shapes(mask.shape, scores.shape) == scores.shape
    except RuntimeError:
        fits = False
    if not fits:
        raise ValueError(
            "mask %s scores %s" % ("x".join(map(str, mask.shape)), "x".join(map(str, scores.shape)))
        )
    return scores + mask.to(scores.dtype).log()
