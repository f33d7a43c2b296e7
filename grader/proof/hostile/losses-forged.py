"""Does not train: it shifts the weights a little and hands out losses that look like training.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, predict
partly: predict
outcomes: failed, error
passes: train_in_place, train_fresh, train_lowers, train_inputs, refuses[train
"""


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if targets.shape != ids.shape[:1]:
        raise ValueError(f"{tuple(targets.shape)} and {tuple(ids.shape)}")
    with torch.no_grad():
        for weight in model.parameters():
            weight += lr * 0.01
    return [1.5 * 0.9**step for step in range(steps)]
