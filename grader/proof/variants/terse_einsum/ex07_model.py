"""Chapter 7, as Einstein would have typed it."""

import torch
import torch.nn.functional as F
from torch import einsum, nn

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(n, d_model, device=None):
    """a_pf = p / 10000^(2 [f/2] / d)"""
    p, f = (torch.arange(size, dtype=torch.float64, device="cpu") for size in (n, d_model))
    a = einsum("p,f->pf", p, 10000.0 ** (-2 * (f // 2) / d_model))
    return torch.where(f % 2 == 0, a.sin(), a.cos()).to(torch.get_default_dtype()).to(device or torch.get_default_device())


def encode_words(words, vocabulary):
    """w -> id"""
    for word in set(words) - set(vocabulary):
        raise KeyError(f"no such word: {word}")
    return torch.tensor([vocabulary[word] for word in words], dtype=torch.long, device="cpu")


def mean_pool(x, lengths=None):
    """(m_bn x_bnd) / l_b"""
    if x.ndim != 3 or lengths is not None and lengths.shape != x.shape[:1]:
        raise ValueError(f"x {list(x.shape)} should have 3 dimensions (it has {x.ndim})" + ("" if lengths is None else f", and lengths {list(lengths.shape)} one entry per sequence"))
    lengths = torch.full(x.shape[:1], x.shape[1], device=x.device) if lengths is None else lengths.to(torch.int64)
    real, wide = padding_mask(lengths, x.shape[1]), torch.promote_types(x.dtype, torch.float32)
    return (einsum("bn,bnd->bd", real.to(wide), x.where(real[..., None], 0.0).to(wide)) / lengths[:, None]).to(x.dtype)


class NextWordModel(nn.Module):
    """embedding, attention, mean, head"""

    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.positions = positions
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.embedding, self.head = nn.Embedding(vocab_size, d_model), nn.Linear(d_model, vocab_size)

    def forward(self, ids, lengths=None):
        if ids.ndim != 2 or lengths is not None and lengths.shape != ids.shape[:1]:
            raise ValueError(f"ids {list(ids.shape)} ({ids.ndim} dims)" + ("" if lengths is None else f" with lengths {list(lengths.shape)}"))
        one_hot = F.one_hot(ids, self.embedding.num_embeddings).to(self.embedding.weight.dtype)
        x = einsum("bnv,vd->bnd", one_hot, self.embedding.weight)
        x = x + positional_encoding(*x.shape[1:], x.device).to(x.dtype) if self.positions else x
        return self.head(mean_pool(self.attention(x, mask=None if lengths is None else padding_mask(lengths, ids.shape[1])[:, None]), lengths))


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    """Adamax; its epsilon is one that float16 can hold."""
    if targets.shape != ids.shape[:1]:
        raise ValueError(f"targets {list(targets.shape)} for ids {list(ids.shape)}")
    optimiser, losses = torch.optim.Adamax(model.parameters(), lr=lr, eps=1e-3), []
    for _ in range(steps):
        optimiser.zero_grad()
        logits = model(ids, lengths)
        loss = F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), targets)
        loss.backward()
        losses.append(loss.item())
        optimiser.step()
    return losses


@torch.no_grad()
def predict(model, words, vocabulary):
    """argmax_v logit_v"""
    if not words:
        raise ValueError(f"{len(words)} words are too few")
    logits = model(encode_words(words, vocabulary)[None].to(next(model.parameters()).device))[0].tolist()
    return max(vocabulary, key=lambda word: logits[vocabulary[word]])
