"""Style loops: position by position, pair by pair, with numbers of Python for the rates."""

import torch

from ex02_scaling import scaled_scores


def rotary_angles(positions, d_head, base=10000.0):
    if positions.dim() != 1:
        raise ValueError(f"positions have the shape {tuple(positions.shape)}")
    if d_head < 2 or d_head % 2 == 1:
        raise ValueError(f"d_head is {d_head}")
    columns = []
    for i in range(d_head // 2):
        rate = base ** (-2 * i / d_head)
        columns.append(positions.to(torch.float32) * rate)
    return torch.stack(columns, dim=1)


def fitting(x, angles):
    if x.dim() < 2 or x.size(-1) % 2 == 1:
        raise ValueError(f"x has the shape {tuple(x.shape)}")
    if tuple(angles.shape) != (x.size(-2), x.size(-1) // 2):
        raise ValueError(f"angles have the shape {tuple(angles.shape)}, x {tuple(x.shape)}")


def turn(x, angles, firsts, seconds):
    fitting(x, angles)
    work = torch.float64 if x.dtype == torch.float64 else torch.float32
    features = [None] * x.size(-1)
    for i, (first, second) in enumerate(zip(firsts, seconds)):
        u, v, angle = x[..., first].to(work), x[..., second].to(work), angles[:, i].to(work)
        features[first] = u * torch.cos(angle) - v * torch.sin(angle)
        features[second] = u * torch.sin(angle) + v * torch.cos(angle)
    return torch.stack(features, dim=-1).to(x.dtype)


def rotate_pairs(x, angles):
    width = x.size(-1) if x.dim() else 0
    return turn(x, angles, range(0, width, 2), range(1, width, 2))


def rotate_halves(x, angles):
    width = x.size(-1) if x.dim() else 0
    return turn(x, angles, range(width // 2), range(width // 2, width))


def pairs_to_halves(weight, n_heads):
    if weight.dim() != 2 or n_heads < 1 or weight.size(0) % (2 * n_heads) != 0:
        raise ValueError(f"weight has the shape {tuple(weight.shape)}, for {n_heads} heads")
    width = weight.size(0) // n_heads
    rows = []
    for head in range(n_heads):
        for start in (0, 1):
            for i in range(width // 2):
                rows.append(weight[head * width + 2 * i + start])
    return torch.stack(rows)


def rotary_scores(query, key, query_positions, key_positions, base=10000.0):
    if query.dim() < 2 or key.dim() < 2 or query.size(-1) != key.size(-1):
        raise ValueError(f"shapes {tuple(query.shape)} and {tuple(key.shape)}")
    d = query.size(-1)
    query = rotate_pairs(query, rotary_angles(query_positions, d, base))
    key = rotate_pairs(key, rotary_angles(key_positions, d, base))
    return scaled_scores(query, key)
