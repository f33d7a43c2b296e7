"""Style beginner: the experiment is done just as its recipe says."""

import math

import torch

import ex01_scores


def scale_scores(scores, d_k):
    square_root = math.sqrt(d_k)
    scaled = torch.divide(scores, square_root)
    return scaled


def scaled_scores(query, key):
    scores = ex01_scores.dot_product_scores(query, key)
    d_k = query.shape[-1]
    scaled = scale_scores(scores, d_k)
    return scaled


def score_spread(d_k, pairs, generator=None):
    # step 1: draw the queries and the keys
    if generator is None:
        queries = torch.randn(pairs, d_k)
        keys = torch.randn(pairs, d_k)
    else:
        device = generator.device
        queries = torch.randn(pairs, d_k, generator=generator, device=device)
        keys = torch.randn(pairs, d_k, generator=generator, device=device)
    # step 2: one dot product per pair
    dot_products = torch.sum(queries * keys, dim=1)
    # step 3: the standard deviation
    mean = torch.mean(dot_products)
    differences = dot_products - mean
    variance = torch.mean(differences**2)
    standard_deviation = torch.sqrt(variance)
    return standard_deviation
