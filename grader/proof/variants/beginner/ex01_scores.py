"""Style beginner: one small step per line, and a name for everything."""

import torch


def shape_text(tensor):
    """Write the shape of a tensor as a list."""
    return str(list(tensor.shape))


def dot_product(a, b):
    # both have to be vectors
    if len(a.shape) != 1:
        raise ValueError("a should have one dimension but its shape is " + shape_text(a))
    if len(b.shape) != 1:
        raise ValueError("b should have one dimension but its shape is " + shape_text(b))
    # and both have to be equally long
    length_of_a = a.shape[0]
    length_of_b = b.shape[0]
    if length_of_a != length_of_b:
        raise ValueError(f"a has length {length_of_a} but b has length {length_of_b}")
    products = torch.multiply(a, b)
    result = torch.sum(products)
    return result


def naive_scores(tokens):
    if len(tokens.shape) < 2:
        raise ValueError("tokens should have rows and columns: " + shape_text(tokens))
    # turn the rows into columns
    tokens_transposed = torch.transpose(tokens, -2, -1)
    scores = torch.matmul(tokens, tokens_transposed)
    return scores


def check_x_and_weight(x, weight):
    if len(x.shape) < 2:
        raise ValueError("x should have rows and columns: " + shape_text(x))
    if len(weight.shape) != 2:
        raise ValueError("weight should have two dimensions: " + shape_text(weight))


def check_bias(bias, d_out):
    if len(bias.shape) != 1:
        raise ValueError("bias should have one dimension: " + shape_text(bias))
    if bias.shape[0] != d_out:
        raise ValueError(f"bias has length {bias.shape[0]} but d_out is {d_out}")


def project_rows(x, weight, bias=None):
    check_x_and_weight(x, weight)
    d_in = weight.shape[0]
    d_out = weight.shape[1]
    if x.shape[-1] != d_in:
        raise ValueError(f"x has {x.shape[-1]} features but weight has {d_in} rows")
    output = torch.matmul(x, weight)
    if bias is not None:
        check_bias(bias, d_out)
        output = torch.add(output, bias)
    return output


def project_linear(x, weight, bias=None):
    check_x_and_weight(x, weight)
    d_out = weight.shape[0]
    d_in = weight.shape[1]
    if x.shape[-1] != d_in:
        raise ValueError(f"x has {x.shape[-1]} features but weight has {d_in} columns")
    # nn.Linear keeps its weight the other way round
    weight_transposed = torch.transpose(weight, 0, 1)
    output = torch.matmul(x, weight_transposed)
    if bias is not None:
        check_bias(bias, d_out)
        output = torch.add(output, bias)
    return output


def project_columns(x, weight, bias=None):
    check_x_and_weight(x, weight)
    d_out = weight.shape[0]
    d_in = weight.shape[1]
    if x.shape[-2] != d_in:
        raise ValueError(f"x has {x.shape[-2]} features but weight has {d_in} columns")
    output = torch.matmul(weight, x)
    if bias is not None:
        check_bias(bias, d_out)
        # the bias has to stand upright, like the tokens
        bias_column = torch.reshape(bias, (d_out, 1))
        output = torch.add(output, bias_column)
    return output


def dot_product_scores(query, key):
    both_shapes = "query " + shape_text(query) + " and key " + shape_text(key)
    if len(query.shape) < 2 or len(key.shape) < 2:
        raise ValueError("query and key should have rows and columns: " + both_shapes)
    if query.shape[-1] != key.shape[-1]:
        raise ValueError("query and key should be equally wide: " + both_shapes)
    if query.shape[:-2] != key.shape[:-2]:
        raise ValueError("query and key should have the same batch: " + both_shapes)
    key_transposed = torch.transpose(key, -2, -1)
    scores = torch.matmul(query, key_transposed)
    return scores
