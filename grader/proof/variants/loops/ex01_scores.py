"""Style loops: one token, one query and one key at a time, put together with torch.stack."""

import torch


def nothing(*tensors):
    """Return a 0 that the gradients of all these tensors can flow through."""
    return sum(tensor.reshape(-1)[:0].sum() for tensor in tensors)


def stacked(parts, sources, *shape):
    """Stack `parts`; with none of them, return the empty tensor of `shape`, tied to `sources`."""
    if len(parts) == 0:
        return sources[0].new_zeros(shape) + nothing(*sources)
    return torch.stack(parts)


def batch_shapes_equal(*tensors):
    return all(tensor.shape[:-2] == tensors[0].shape[:-2] for tensor in tensors)


def complain(sentence, *tensors):
    shapes = []
    for tensor in tensors:
        shapes.append(" x ".join(str(size) for size in tensor.shape) or "a single number")
    raise ValueError(f"{sentence} (sizes: {'; '.join(shapes)})")


def dot_product(a, b):
    if a.dim() != 1 or b.dim() != 1:
        complain("a dot product is for two vectors", a, b)
    if len(a) != len(b):
        complain("the two vectors have different lengths", a, b)
    total = nothing(a, b)
    for left, right in zip(a, b):
        total = total + left * right
    return total


def naive_scores(tokens):
    if tokens.dim() < 2:
        complain("tokens should be rows of a matrix, or of several", tokens)
    return dot_product_scores(tokens, tokens)


def project_rows(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2 or x.size(-1) != weight.size(0):
        complain("every token needs as many features as the weight has rows", x, weight)
    if bias is not None and (bias.dim() != 1 or len(bias) != weight.size(1)):
        complain("the bias needs one number per column of the weight", bias, weight)
    sources = [x, weight] if bias is None else [x, weight, bias]
    if x.dim() > 2:
        pages = [project_rows(page, weight, bias) for page in x]
        return stacked(pages, sources, *x.shape[:-1], weight.size(1))
    rows = []
    for token in x:
        row = torch.zeros(weight.size(1), dtype=x.dtype, device=x.device)
        row = row + nothing(*sources)
        for feature, weights_of_feature in zip(token, weight):
            row = row + feature * weights_of_feature
        if bias is not None:
            row = row + bias
        rows.append(row)
    return stacked(rows, sources, 0, weight.size(1))


def project_linear(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2 or x.size(-1) != weight.size(1):
        complain("every token needs as many features as the weight has columns", x, weight)
    if bias is not None and (bias.dim() != 1 or len(bias) != weight.size(0)):
        complain("the bias needs one number per row of the weight", bias, weight)
    sources = [x, weight] if bias is None else [x, weight, bias]
    if x.dim() > 2:
        pages = [project_linear(page, weight, bias) for page in x]
        return stacked(pages, sources, *x.shape[:-1], weight.size(0))
    rows = []
    for token in x:
        row = []
        for i, neuron in enumerate(weight):
            number = (neuron * token).sum()
            row.append(number if bias is None else number + bias[i])
        rows.append(stacked(row, sources, 0))
    return stacked(rows, sources, 0, weight.size(0))


def project_columns(x, weight, bias=None):
    if x.dim() < 2 or weight.dim() != 2 or x.size(-2) != weight.size(1):
        complain("every column needs as many features as the weight has columns", x, weight)
    if bias is not None and (bias.dim() != 1 or len(bias) != weight.size(0)):
        complain("the bias needs one number per row of the weight", bias, weight)
    sources = [x, weight] if bias is None else [x, weight, bias]
    if x.dim() > 2:
        pages = [project_columns(page, weight, bias) for page in x]
        return stacked(pages, sources, *x.shape[:-2], weight.size(0), x.size(-1))
    rows = []
    for i, neuron in enumerate(weight):
        row = x.new_zeros(x.size(1)) + nothing(*sources)
        for factor, feature_of_all_tokens in zip(neuron, x):
            row = row + factor * feature_of_all_tokens
        if bias is not None:
            row = row + bias[i]
        rows.append(row)
    return stacked(rows, sources, 0, x.size(1))


def dot_product_scores(query, key):
    if query.dim() < 2 or query.dim() != key.dim():
        complain("query and key need the same number of dimensions, two or more", query, key)
    if query.size(-1) != key.size(-1):
        complain("query and key have different widths", query, key)
    if not batch_shapes_equal(query, key):
        complain("query and key come in different batches", query, key)
    if query.dim() > 2:
        pages = [dot_product_scores(q, k) for q, k in zip(query, key)]
        return stacked(pages, (query, key), *query.shape[:-1], key.size(-2))
    rows = []
    for q in query:
        rows.append(stacked([(q * k).sum() for k in key], (query, key), 0))
    return stacked(rows, (query, key), 0, len(key))
