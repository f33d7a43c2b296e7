"""Returns masks whose bytes are 2, 3 and 255: neither True nor False to whoever reads bytes.

chapter: ex03_masking
earns: decoder_mask, padding_mask, causal_mask
partly: apply_mask
at most: decoder_mask, padding_mask, causal_mask, apply_mask
outcomes: failed
"""

right = causal_mask


def causal_mask(n, device=None):
    made = right(n, device)
    bytes_of = made.to(torch.uint8) * 254
    return bytes_of.view(torch.bool)
