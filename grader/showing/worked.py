"""The worked examples of the documents: their inputs, and every number that they print."""

from __future__ import annotations

from collections.abc import Sequence

from grader.pictures.model import DocumentNumbers
from grader.pictures.numbers import Number

INF = float("inf")
_002 = "document 002"
_001 = "document 001"

# document 002: torch.manual_seed(42), then T, W_K, W_Q and W_V from torch.randn in this order
TOKENS = [
    [0.3366904, 0.1288094, 0.2344624, 0.2303330, -1.1228564],
    [-0.1863283, 2.2082014, -0.6379970, 0.4616572, 0.2673509],
    [0.5349047, 0.8093572, 1.1102903, -1.6897990, -0.9889599],
]
W_K = [
    [-1.3846737, -0.8712361, -0.2233659, 1.7173615],
    [-0.4879917, 1.1913691, -0.8140076, -0.7359928],
    [-0.8371246, -0.9223900, 1.8113178, 0.1605649],
    [-0.0978069, 1.8445940, -1.1845374, 1.3835493],
    [-1.2024456, 0.7078122, -1.0758859, 0.5356547],
]
W_Q = [
    [0.3466467, -0.1973314, -1.0545889, 1.2779956],
    [0.7281095, -0.7106419, -0.6020683, 0.9604488],
    [0.4048143, -1.3543429, -0.4976462, 0.4746614],
    [-0.1975617, 1.2683114, 1.2242628, 0.0981172],
    [1.7422527, -1.3526736, 0.2190605, 0.5526349],
]
W_V = [
    [-0.6787530, 0.5743161, 0.1877491, -0.3576230],
    [0.5176930, 0.3877785, -0.5796772, -0.1691152],
    [1.9311606, 1.0118638, -1.4364065, -1.1298598],
    [0.2703736, -0.5628242, 0.6793404, 0.4405301],
    [1.1415080, 0.0185646, -1.8058051, 0.9254349],
]
# document 001: the embeddings of "write a poem"; and, after torch.manual_seed(42), the weights of
# three nn.Linear(2, 2, bias=False), [d_out, d_in], made in the order query, key, value
POEM = [[1.16, 0.23], [0.57, 1.36], [4.41, -2.16]]
POEM_Q = [[0.5406104, 0.5869042], [-0.1656557, 0.6495563]]
POEM_K = [[-0.1549296, 0.1426876], [-0.3442585, 0.4152716]]
POEM_V = [[0.6233450, -0.5187534], [0.6146145, 0.1323416]]

MIX_OF_TOKENS = [
    [0.0752, 1.1685, -0.2018, 0.3460, -0.4278],
    [0.2284, 1.0488, 0.2356, -0.3326, -0.6148],
    [1.2045, 0.9488, 1.8346, -1.8501, -2.9674],
]
NAIVE_MIX = [
    [1.2045, 0.9488, 1.8346, -1.8501, -2.9674],
    [-1.1198, 12.3029, -3.6754, 2.6688, 1.6991],
    [3.6518, 4.8810, 7.0084, -9.8898, -7.3800],
]
NAIVE = [[1.4988, -0.1217, 1.2659], [-0.1217, 5.6025, -0.0653], [1.2659, -0.0653, 6.0074]]
KEY = [
    [0.6023, -0.7260, 1.1799, 0.2383],
    [-0.6521, 4.4224, -3.7460, -1.2657],
    [-0.7106, -4.3429, 4.2984, -2.3664],
]
QUERY = [
    [-1.6964, 1.3355, -0.5133, 0.0674],
    [1.6595, -0.4445, -0.1917, 1.7729],
    [-0.1650, -2.9899, -3.8893, 1.2756],
]
VALUE = [
    [-0.9285, 0.3301, 1.8359, -1.3448],
    [0.4676, -0.1512, -0.5678, 0.8648],
    [0.6143, 2.6772, -1.3256, -3.2423],
]
SCORES = [[-2.5809, 8.8498, -6.9600], [1.5185, -4.5739, -4.2686], [-2.2135, -0.1601, -6.6347]]
SCALED = [[-1.2905, 4.4249, -3.4800], [0.7593, -2.2869, -2.1343], [-1.1067, -0.0801, -3.3173]]
MASKED = [[-1.2905, -INF, -INF], [0.7593, -2.2869, -INF], [-1.1067, -0.0801, -3.3173]]
WEIGHTS = [[1.0000, 0.0000, 0.0000], [0.9546, 0.0454, 0.0000], [0.2563, 0.7156, 0.0281]]
RESULT = [
    [-0.9285, 0.3301, 1.8359, -1.3448],
    [-0.8652, 0.3082, 1.7268, -1.2445],
    [0.1138, 0.0517, 0.0270, 0.1831],
]


Table = Sequence[Sequence[Number]]


def _upright(rows: Table) -> Table:
    return [list(column) for column in zip(*rows, strict=True)]


def _printed(rows: Table, part: str) -> DocumentNumbers:
    return DocumentNumbers([list(row) for row in rows], f'{_002}, "{part}"')


_NAIVE, _KEYS, _VALUES = "Naive Attention", "Key and Query Vectors", "Value Vectors"
IN_002 = {
    "naive": _printed(NAIVE, _NAIVE),
    "naive mix": _printed(NAIVE_MIX, _NAIVE),
    "combinations": _printed(MIX_OF_TOKENS, "Linear Combinations"),
    "query": _printed(QUERY, _KEYS),
    "key": _printed(KEY, _KEYS),
    "value": _printed(VALUE, _VALUES),
    "query upright": _printed(_upright(QUERY), _KEYS),
    "key upright": _printed(_upright(KEY), _KEYS),
    "value upright": _printed(_upright(VALUE), _VALUES),
    "scores": _printed(SCORES, _KEYS),
    "scaled": _printed(SCALED, _KEYS),
    "mask": _printed([[True, False, False], [True, True, False], [True, True, True]], _KEYS),
    "masked": _printed(MASKED, _KEYS),
    "weights": _printed(WEIGHTS, _KEYS),
    "result": _printed(RESULT, _VALUES),
}
IN_001 = {
    "weights": DocumentNumbers(
        [[0.36, 0.40, 0.24], [None] * 3, [None] * 3], f'{_001}, "The Matrix Math"', 2
    ),
    # it cuts 3.8695 to 3.86
    "value": DocumentNumbers(
        [[0.60, None], [-0.35, None], [3.86, None]], f'{_001}, "The Matrix Math"', 2
    ),
    "result": DocumentNumbers(
        [[1.0, None], [None, None], [None, None]], f'{_001}, "The Matrix Math"', 1
    ),
}
