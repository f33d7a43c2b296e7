"""Clears the gradient of one bias, and lets those of all other weights add up.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, predict
outcomes: failed
passes: train, refuses[train
"""


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if targets.shape != ids.shape[:1]:
        raise ValueError(f"{tuple(targets.shape)} and {tuple(ids.shape)}")
    weights, losses = list(model.parameters()), []
    for _ in range(steps):
        model.head.bias.grad = None
        loss = torch.nn.functional.cross_entropy(model(ids, lengths), targets)
        loss.backward()
        losses.append(loss.item())
        with torch.no_grad():
            for weight in weights:
                weight -= lr * 0.1 * weight.grad
    return losses
