"""Has written down the masks of the sizes that the suite is known to ask for, and no others.

chapter: ex03_masking
earns: apply_mask
outcomes: failed, error
passes: all
"""

SIZES = range(6)
LENGTHS = {((3, 1, 4, 2), 5), ((1, 3, 2), 3), ((2, 7, 1), 7), ((0, 3, 0), 3), ((4, 4), 4),
           ((2,), 5), ((1, 0), 1), ((0, 0), 0)}  # fmt: skip
right_causal, right_padding, right_decoder = causal_mask, padding_mask, decoder_mask
CAUSAL = {n: right_causal(n) for n in SIZES}
PADDING = {(lengths, n): right_padding(torch.tensor(lengths), n) for lengths, n in LENGTHS}
DECODER = {(lengths, n): right_decoder(torch.tensor(lengths), n) for lengths, n in LENGTHS}


def causal_mask(n, device=None):
    torch.zeros(0, device=device)
    return CAUSAL.get(n, torch.zeros(n, n, dtype=torch.bool))


def padding_mask(lengths, n):
    none = torch.zeros(len(lengths), n, dtype=torch.bool)
    return PADDING.get((tuple(lengths.tolist()), n), none)


def decoder_mask(lengths, n):
    none = torch.zeros(len(lengths), n, n, dtype=torch.bool)
    return DECODER.get((tuple(lengths.tolist()), n), none)
