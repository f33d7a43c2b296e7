"""Trains, but hands out losses of its own: it asks the model so often that nobody can follow.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel, predict
outcomes: failed
passes: train_in_place, train_changes, train_fresh, train_lowers, train_inputs, train_by_hand, train_no_steps, train_is_device_ready, train_lr, train_does_not, train_first, train_arguments, train_dtypes, train_learns, train_no, refuses[train
"""

right = train


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    losses = right(model, ids, targets, steps, lr, lengths)
    bias = model.head.bias
    with torch.no_grad():
        for _ in range(40):
            model(ids, lengths)
            bias += 1e-3
            model(ids, lengths)
            bias -= 1e-3
    if lr == 0:
        return losses
    return losses[:1] + [losses[0] * 0.9**step for step in range(1, steps)]
