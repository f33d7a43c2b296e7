"""The model, as a JAX user would: parameters are a dict, training is a pure update."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap

from ex01_scores import MismatchError, named, require
from ex03_masking import padding_mask
from ex06_heads import MultiHeadAttention


def positional_encoding(
    n: int, d_model: int, device: torch.device | str | None = None
) -> Float[Tensor, "n d_model"]:
    places = torch.arange(n, device=device, dtype=torch.float64)
    features = torch.arange(d_model, device=device)

    def wave(feature: Tensor) -> Tensor:
        even = feature - feature % 2
        angles = places / torch.pow(10000.0, even.to(torch.float64) / d_model)
        return torch.where(feature % 2 == 0, torch.sin(angles), torch.cos(angles))

    return vmap(wave, out_dims=1)(features).to(torch.get_default_dtype())


def encode_words(words: list[str], vocabulary: dict[str, int]) -> Int[Tensor, " n"]:
    unknown = next((word for word in words if word not in vocabulary), None)
    if unknown is not None:
        raise KeyError(unknown)
    return torch.tensor([*map(vocabulary.__getitem__, words)], dtype=torch.int64, device="cpu")


def mean_pool(
    x: Float[Tensor, "batch n d"], lengths: Int[Tensor, " batch"] | None = None
) -> Float[Tensor, "batch d"]:
    said = "x has " + named(x, "n", "d")
    require(x.ndim == 3, "x needs three dimensions", said)
    if lengths is None:
        lengths = torch.full(x.shape[:1], x.shape[1], dtype=torch.long, device=x.device)
    require(
        lengths.shape == x.shape[:1],
        "one length per sequence is wanted",
        said,
        "lengths has " + named(lengths, *(f"dim_{i}" for i in range(lengths.ndim)))
        if lengths.ndim
        else "lengths has ndim=0",
    )
    wide = torch.promote_types(x.dtype, torch.float32)

    def mean(rows: Tensor, real: Tensor, length: Tensor) -> Tensor:
        kept = torch.where(real[:, None], rows, torch.zeros_like(rows))
        return kept.sum(0) / length

    real = padding_mask(lengths, x.shape[1])
    return vmap(mean)(x.to(wide), real, lengths.to(wide)).to(x.dtype)


class NextWordModel(nn.Module):
    def __init__(
        self, vocab_size: int, d_model: int, n_heads: int = 1, positions: bool = False
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = MultiHeadAttention(d_model=d_model, n_heads=n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        self.positions = bool(positions)

    def forward(
        self, ids: Int[Tensor, "batch n"], lengths: Int[Tensor, " batch"] | None = None
    ) -> Float[Tensor, "batch vocab_size"]:
        if ids.ndim != 2:
            shape = "*".join(map(str, ids.shape)) or "()"
            raise MismatchError("ids needs two dimensions", ndim=ids.ndim, shape=shape)
        if lengths is not None and lengths.shape != ids.shape[:1]:
            got = "*".join(map(str, lengths.shape)) or "()"
            raise MismatchError(
                "one length per sequence is wanted",
                batch=ids.shape[0],
                n=ids.shape[1],
                lengths=got,
            )
        tokens = self.embedding(ids)
        if self.positions:
            tokens = tokens + positional_encoding(*tokens.shape[1:], tokens.device).to(tokens)
        mask = None if lengths is None else padding_mask(lengths, ids.shape[1]).unsqueeze(1)
        return self.head(mean_pool(self.attention(tokens, mask=mask), lengths))


Tree = dict[str, Tensor]


def _clip(tree: Tree, most: float) -> Tree:
    norm = torch.stack([leaf.square().sum() for leaf in tree.values()]).sum().sqrt()
    factor = most / torch.clamp(norm, min=most)
    return {name: leaf * factor for name, leaf in tree.items()}


def train(
    model: NextWordModel,
    ids: Int[Tensor, "batch n"],
    targets: Int[Tensor, " batch"],
    steps: int = 200,
    lr: float = 0.05,
    lengths: Int[Tensor, " batch"] | None = None,
) -> list[float]:
    if targets.ndim != 1 or targets.shape != ids.shape[:1]:
        raise MismatchError(
            "one target per sequence is wanted",
            batch=ids.shape[0] if ids.ndim else "none",
            targets="*".join(map(str, targets.shape)) or "ndim 0",
        )
    home = dict(model.named_parameters())
    kinds = {name: p.dtype for name, p in home.items()}

    def loss_of(params: Tree) -> Tensor:
        at_home = {name: leaf.to(kinds[name]) for name, leaf in params.items()}
        logits = functional_call(model, at_home, (ids, lengths))
        return F.cross_entropy(logits.to(torch.promote_types(logits.dtype, torch.float32)), targets)

    # Weights of half precision are trained at full precision and rounded on their way home.
    params = {
        name: p.detach().to(torch.promote_types(p.dtype, torch.float32), copy=True)
        for name, p in home.items()
    }
    velocity = {name: torch.zeros_like(leaf) for name, leaf in params.items()}
    losses = []
    for _ in range(steps):
        slopes, loss = grad_and_value(loss_of)(params)
        slopes = _clip(slopes, most=1.0)
        velocity = {name: 0.9 * velocity[name] + slopes[name] for name in params}
        params = {name: params[name] - lr * velocity[name] for name in params}
        losses.append(loss.item())
        with torch.no_grad():
            for name, leaf in params.items():
                home[name].copy_(leaf)
    return losses


def predict(model: NextWordModel, words: list[str], vocabulary: dict[str, int]) -> str:
    if not words:
        raise MismatchError("at least one word is wanted", words=0)
    ids = encode_words(words, vocabulary)
    names, places = zip(*vocabulary.items(), strict=True)
    params = {name: p.detach() for name, p in model.named_parameters()}
    ids = ids.to(params["head.weight"].device)
    logits = functional_call(model, params, (ids[None],)).squeeze(0)
    return names[int(torch.argmax(logits[list(places)]))]
