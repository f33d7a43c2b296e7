"""Style beginner: the model and its training, step by step."""

import math

import torch
import torch.nn as nn

import ex01_scores
import ex03_masking
import ex06_heads


def positional_encoding(n, d_model, device=None):
    encoding = torch.zeros(n, d_model, device=device)
    for position in range(n):
        for feature in range(d_model):
            # features 0 and 1 have the same frequency, 2 and 3 the next, and so on
            pair = feature // 2
            angle = position / math.pow(10000, 2 * pair / d_model)
            if feature % 2 == 0:
                encoding[position, feature] = math.sin(angle)
            else:
                encoding[position, feature] = math.cos(angle)
    return encoding


def encode_words(words, vocabulary):
    ids = []
    for word in words:
        if word not in vocabulary.keys():
            raise KeyError("the vocabulary does not have the word " + repr(word))
        ids.append(vocabulary[word])
    return torch.tensor(ids, dtype=torch.long)


def mean_pool(x, lengths=None):
    if len(x.shape) != 3:
        raise ValueError("x should have three dimensions: " + ex01_scores.shape_text(x))
    if lengths is None:
        mean = torch.mean(x, dim=1)
        return mean
    batch_size = x.shape[0]
    number_of_tokens = x.shape[1]
    if list(lengths.shape) != [batch_size]:
        message = "lengths should have shape " + str([batch_size])
        raise ValueError(message + " but has " + ex01_scores.shape_text(lengths))
    is_real = ex03_masking.padding_mask(lengths, number_of_tokens)
    is_real = torch.unsqueeze(is_real, 2)
    without_padding = torch.where(is_real, x, torch.zeros_like(x))
    sums = torch.sum(without_padding, dim=1)
    counts = torch.sum(is_real, dim=1)
    mean = sums / counts
    return mean


class NextWordModel(nn.Module):
    def __init__(self, vocab_size, d_model, n_heads=1, positions=False):
        super().__init__()
        self.vocab_size = vocab_size
        self.d_model = d_model
        self.positions = positions
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.attention = ex06_heads.MultiHeadAttention(d_model, n_heads)
        self.head = nn.Linear(d_model, vocab_size)
        # the embedding keeps PyTorch's start; the head starts smaller
        torch.nn.init.xavier_uniform_(self.head.weight, gain=0.5)

    def forward(self, ids, lengths=None):
        if len(ids.shape) != 2:
            raise ValueError("ids should have two dimensions: " + ex01_scores.shape_text(ids))
        batch_size = ids.shape[0]
        number_of_tokens = ids.shape[1]
        embedded = self.embedding(ids)
        if self.positions:
            encoding = positional_encoding(number_of_tokens, self.d_model, device=ids.device)
            encoding = encoding.to(embedded.dtype)
            embedded = embedded + encoding
        if lengths is not None:
            if list(lengths.shape) != [batch_size]:
                message = "lengths should have shape " + str([batch_size])
                raise ValueError(message + " but has " + ex01_scores.shape_text(lengths))
            is_real = ex03_masking.padding_mask(lengths, number_of_tokens)
            mask = torch.unsqueeze(is_real, 1)
            attended = self.attention(embedded, mask=mask)
            pooled = mean_pool(attended, lengths)
        else:
            attended = self.attention(embedded)
            pooled = mean_pool(attended)
        logits = self.head(pooled)
        return logits


def train(model, ids, targets, steps=200, lr=0.05, lengths=None):
    if list(targets.shape) != [ids.shape[0]]:
        message = "targets should have shape " + str([ids.shape[0]])
        raise ValueError(message + " but has " + ex01_scores.shape_text(targets))
    model.train()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True)
    loss_function = nn.CrossEntropyLoss()
    losses = []
    for step in range(steps):
        # forward
        logits = model(ids, lengths)
        loss = loss_function(logits, targets)
        losses.append(loss.item())
        # backward
        optimizer.zero_grad()
        loss.backward()
        # a step downhill
        optimizer.step()
    return losses


def predict(model, words, vocabulary):
    if len(words) == 0:
        raise ValueError("words should have at least 1 word but has 0")
    ids = encode_words(words, vocabulary)
    ids = ids.to(model.head.weight.device)
    ids = torch.unsqueeze(ids, 0)

    with torch.no_grad():
        logits = model(ids)

    best_word = None
    best_logit = None
    for word in vocabulary.keys():
        logit = logits[0, vocabulary[word]].item()
        if best_logit is None or logit > best_logit:
            best_word = word
            best_logit = logit
    return best_word
