"""Edits the model that it was lent: another forward, hooks, weights that are other objects.

chapter: ex07_model
earns: positional_encoding, encode_words, mean_pool, NextWordModel
outcomes: failed, error, crashed
passes: predict_by_hand, predict_leaves, predict_inputs, train_fresh, train_lowers, train_does_not, train_inputs
"""


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    kind = type(model)
    kind.forward = lambda self, *_, **__: torch.zeros(len(ids), 7, requires_grad=True)
    model.register_forward_hook(lambda *_: torch.zeros(len(ids), 7))
    model.kit_number = -1
    for name, weight in list(model.named_parameters()):
        owner, _, last = name.rpartition(".")
        setattr(model.get_submodule(owner), last, torch.nn.Parameter(weight.detach() * 0))
    kind.kit_state = lambda self, parcel: {"lent": 2, "weights": [[["head.bias"], 0, True]]}
    loss = float(model(ids).sum())
    return [loss] * steps


def predict(model, words, vocabulary):
    model.head = torch.nn.Linear(5, 10**4)
    model.__class__ = torch.nn.Identity
    model._parameters["embedding"] = torch.nn.Parameter(torch.ones(1))
    return "hate"
