import torch
from torch import nn
from torch.nn.functional import cross_entropy

from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention

no = lambda *ts: (_ for _ in ()).throw(
    ValueError(" / ".join(f"{t.ndim}d {[*t.shape]}" for t in ts))
)
up = lambda t: t if t.itemsize > 2 else t.float()

positional_encoding = lambda n, d_model, device=None: torch.where(
    (i := torch.arange(d_model, device=device)) % 2 == 0,
    (
        a := torch.arange(n, device=device).double()[:, None]
        / 1e4 ** ((i - i % 2).double() / d_model)
    ).sin(),
    a.cos(),
).to(torch.get_default_dtype())
encode_words = lambda words, vocabulary: torch.tensor(
    [*map({**vocabulary}.__getitem__, words)], dtype=torch.long, device="cpu"
)


def mean_pool(x, lengths=None):
    x.ndim == 3 or no(x)
    if (l := lengths) is None:
        return up(x).mean(1).to(x.dtype)
    l.shape == x.shape[:1] or no(x, l)
    m = padding_mask(l, x.shape[1])[..., None]
    return (up(x).where(m, 0).sum(1) / l.to(up(x).dtype)[:, None]).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.head, self.p = nn.Linear(d_model, vocab_size), positions

    def forward(self, ids, lengths=None):
        ids.ndim == 2 or no(ids)
        (l := lengths) is None or l.shape == ids.shape[:1] or no(ids, l)
        x = self.embedding(ids)
        x = x + positional_encoding(*x.shape[1:], x.device).to(x) if self.p else x
        m = None if l is None else padding_mask(l, ids.shape[1])[:, None]
        return self.head(mean_pool(self.attention(x, mask=m), l))


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    targets.ndim == 1 and targets.shape == ids.shape[:1] or no(targets, ids)
    ws = [*model.parameters()]
    cs = [up(w.detach()).clone() for w in ws]
    o = torch.optim.RAdam(cs, lr, (0.9, 0.99))

    def step():
        with torch.enable_grad():
            gs = torch.autograd.grad(l := cross_entropy(up(model(ids, lengths)), targets), ws)
        for c, g in zip(cs, gs):
            c.grad = g.to(c.dtype)
        o.step()
        with torch.no_grad():
            [w.copy_(c) for w, c in zip(ws, cs)]
        return l.item()

    return [step() for _ in range(steps)]


def predict(model, words, vocabulary):
    if not words:
        raise ValueError("0 words")
    i = encode_words(words, vocabulary)[None].to(next(model.parameters()).device)
    with torch.no_grad():
        return max(vocabulary, key=dict(zip(vocabulary, model(i)[0][[*vocabulary.values()]])).get)
