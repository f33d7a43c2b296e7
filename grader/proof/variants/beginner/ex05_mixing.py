"""Style beginner: every line does one thing, every error is checked beforehand."""

import torch

import ex01_scores
import ex03_masking
import ex04_softmax


def linear_combination(weights, tokens):
    if len(weights.shape) != 1:
        raise ValueError("weights should be a vector: " + ex01_scores.shape_text(weights))
    if len(tokens.shape) != 2:
        raise ValueError("tokens should be a matrix: " + ex01_scores.shape_text(tokens))
    number_of_weights = weights.shape[0]
    number_of_tokens = tokens.shape[0]
    if number_of_weights != number_of_tokens:
        message = "%d weights cannot be used for %d tokens"
        raise ValueError(message % (number_of_weights, number_of_tokens))
    weights_as_column = weights.reshape(number_of_weights, 1)
    weighted_tokens = weights_as_column * tokens
    combination = torch.sum(weighted_tokens, dim=0)
    return combination


def mix_values(weights, value):
    both_shapes = ex01_scores.shape_text(weights) + " and " + ex01_scores.shape_text(value)
    if len(weights.shape) < 2 or len(value.shape) < 2:
        raise ValueError("weights and value should have rows and columns: " + both_shapes)
    if weights.shape[:-2] != value.shape[:-2]:
        raise ValueError("weights and value should have the same batch: " + both_shapes)
    if weights.shape[-1] != value.shape[-2]:
        raise ValueError("weights should have a column for each row of value: " + both_shapes)
    mixture = torch.matmul(weights, value)
    return mixture


def attention(query, key, value, mask=None):
    # step 1: how much of each value
    weights = ex04_softmax.attention_weights(query, key, mask)
    # step 2: take that much of each value
    output = mix_values(weights, value)
    return output


def self_attention(x, w_q, w_k, w_v, causal=False):
    query = ex01_scores.project_rows(x, w_q)
    key = ex01_scores.project_rows(x, w_k)
    value = ex01_scores.project_rows(x, w_v)
    if causal == True:  # noqa: E712
        number_of_tokens = x.shape[-2]
        mask = ex03_masking.causal_mask(number_of_tokens, device=x.device)
    else:
        mask = None
    output = attention(query, key, value, mask)
    return output


def cross_attention(x, memory, w_q, w_k, w_v, memory_mask=None):
    query = ex01_scores.project_rows(x, w_q)
    key = ex01_scores.project_rows(memory, w_k)
    value = ex01_scores.project_rows(memory, w_v)
    mask = None
    if memory_mask is not None:
        expected_shape = list(memory.shape[:-1])
        if list(memory_mask.shape) != expected_shape:
            message = "memory_mask should have shape " + str(expected_shape)
            raise ValueError(message + " but has " + ex01_scores.shape_text(memory_mask))
        # the same mask for every query
        number_of_queries = x.shape[-2]
        copies = []
        for _ in range(number_of_queries):
            copies.append(memory_mask)
        if number_of_queries > 0:
            mask = torch.stack(copies, dim=-2)
    output = attention(query, key, value, mask)
    return output
