import torch

from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    if positions.dim() != 1:
        raise ValueError(f"positions {tuple(positions.shape)}")
    if d_head % 2 or d_head < 2:
        raise ValueError(f"d_head {d_head}")
    freq = 1.0 / (
        base ** (torch.arange(0, d_head, 2, device=positions.device, dtype=torch.float32) / d_head)
    )
    return torch.einsum("n,i->ni", positions.to(torch.float32), freq)


def _turn(x, angles, partner, sign):
    wide = torch.float64 if x.dtype == torch.float64 else torch.float32
    y = x.to(wide)
    return (y * angles.cos() + y.index_select(-1, partner) * (sign * angles.sin())).to(x.dtype)


def _ok(x, angles):
    if (
        x.dim() < 2
        or x.shape[-1] % 2
        or angles.dim() != 2
        or [2 * angles.shape[1], angles.shape[0]] != [x.shape[-1], x.shape[-2]]
    ):
        raise ValueError(f"x {tuple(x.shape)}, angles {tuple(angles.shape)}")


def rotate_pairs(x, angles):
    _ok(x, angles)
    f = torch.arange(x.shape[-1], device=x.device)
    return _turn(x, angles.repeat_interleave(2, -1), f ^ 1, (f % 2) * 2 - 1)


def rotate_halves(x, angles):
    _ok(x, angles)
    f = torch.arange(x.shape[-1], device=x.device)
    return _turn(
        x, torch.cat([angles, angles], -1), f.roll(len(f) // 2), torch.where(f < len(f) // 2, -1, 1)
    )


def pairs_to_halves(weight, n_heads):
    if (
        weight.dim() != 2
        or n_heads < 1
        or weight.shape[0] % n_heads
        or weight.shape[0] // n_heads % 2
    ):
        raise ValueError(f"weight {tuple(weight.shape)}, n_heads {n_heads}")
    heads = weight.tensor_split(n_heads)
    return torch.cat([h[s::2] for h in heads for s in (0, 1)])


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.dim() == 0 or key.dim() == 0:
        raise ValueError("a lone number")
    return scaled_scores(
        rotate_pairs(query, rotary_angles(query_positions, query.shape[-1], base)),
        rotate_pairs(key, rotary_angles(key_positions, key.shape[-1], base)),
    )
