"""Returns sparse, quantised, complex, meta and nested tensors, which have no plain numbers.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: failed, error
passes: refuses[scaled_scores
"""

import itertools

turn = itertools.count()
right = scaled_scores


def scaled_scores(query, key):
    made = right(query, key).detach().float()
    return (
        lambda: made.to_sparse(),
        lambda: made.reshape(-1, made.shape[-1]).to_sparse_csr(),
        lambda: torch.quantize_per_tensor(made, 0.1, 0, torch.quint8),
        lambda: made.to(torch.complex64),
        lambda: made.to("meta"),
        lambda: torch.nested.nested_tensor([made, made]),
        lambda: torch.nested.nested_tensor([made, made], layout=torch.jagged),
        lambda: made.to_mkldnn(),
        lambda: made.to(torch.float8_e4m3fn),
        lambda: made.to(torch.complex64).conj(),
    )[next(turn) % 10]()
