import torch
import torch.nn.functional as F
from torch import nn

from ex11_cache import CachedAttention, KeyValueCache


def rms_norm(x, weight, eps=1e-6):
    if x.dim() < 1 or weight.dim() != 1 or weight.shape[0] != x.shape[-1]:
        raise ValueError(f"x {tuple(x.shape)} weight {tuple(weight.shape)}")
    wide = torch.promote_types(x.dtype, torch.float32)
    return F.rms_norm(x.to(wide), weight.shape, None, eps).to(x.dtype) * weight


class DecoderBlock(nn.ModuleDict):
    def __init__(self, d_model, n_heads, n_kv_heads, d_hidden):
        super().__init__(
            dict(
                attention=CachedAttention(d_model, n_heads, n_kv_heads),
                gate=nn.Linear(d_model, d_hidden, bias=False),
                up=nn.Linear(d_model, d_hidden, bias=False),
                down=nn.Linear(d_hidden, d_model, bias=False),
            )
        )
        self.norm_1, self.norm_2 = (nn.Parameter(torch.ones(d_model)) for _ in range(2))

    def forward(self, x, cache=None):
        x = x + self["attention"](rms_norm(x, self.norm_1), cache=cache)
        h = rms_norm(x, self.norm_2)
        return x + self["down"](F.silu(self["gate"](h)) * self["up"](h))


class Decoder(nn.Module):
    def __init__(self, vocab_size, d_model, n_layers, n_heads, n_kv_heads=None):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.blocks = nn.ModuleList(
            [DecoderBlock(d_model, n_heads, n_kv_heads, 4 * d_model) for _ in range(n_layers)]
        )
        self.norm = nn.Parameter(torch.ones(d_model))
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, ids, caches=None):
        if ids.dim() != 2:
            raise ValueError(f"ids {tuple(ids.shape)}")
        if caches is not None and len(caches) != len(self.blocks):
            raise ValueError(f"{len(caches)} caches")
        x = self.embedding(ids)
        for i, b in enumerate(self.blocks):
            x = b(x, caches and caches[i])
        return rms_norm(x, self.norm) @ self.head.weight.T


def next_token_loss(logits, ids):
    if logits.dim() != 3 or ids.dim() != 2 or logits.shape[:2] != ids.shape or ids.shape[1] < 2:
        raise ValueError(f"logits {tuple(logits.shape)} ids {tuple(ids.shape)}")
    wide = torch.promote_types(logits.dtype, torch.float32)
    each = [F.cross_entropy(l[:-1].to(wide), i[1:]) for l, i in zip(logits, ids)]
    return torch.stack(each).mean().to(logits.dtype)


def generate(model, ids, steps, temperature=0.0, generator=None):
    if ids.dim() != 2 or ids.shape[1] < 1 or steps < 0 or temperature < 0:
        raise ValueError(f"ids {tuple(ids.shape)} {steps=} {temperature=}")
    flags = [(m, m.training) for m in model.modules()]
    model.eval()
    try:
        with torch.inference_mode():
            text, caches = (
                [ids],
                [KeyValueCache(max(1, ids.shape[1] + steps - 1)) for _ in model.blocks],
            )
            for _ in range(steps):
                last = model(text[-1], caches)[:, -1].double()
                if temperature:
                    last = (last - last.amax(-1, keepdim=True)) / temperature
                    word = torch.cat(
                        [torch.multinomial(row.softmax(-1), 1, generator=generator) for row in last]
                    )
                else:
                    word = last.max(-1).indices
                text.append(word[:, None])
            out = torch.cat(text, 1)
    finally:
        for m, flag in flags:
            m.training = flag
    return out.clone()
