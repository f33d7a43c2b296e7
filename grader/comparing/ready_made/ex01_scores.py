"""Chapter 1 in PyTorch."""

import torch
import torch.nn.functional as F


def project_linear(project_linear):
    """F.linear is what nn.Linear calls: its weight is [d_out, d_in], one row for each output
    feature, as in yours. Its bias is added to every row.
    """
    torch.manual_seed(0)
    x, weight, bias = torch.randn(3, 4), torch.randn(2, 4), torch.randn(2)
    yours = project_linear(x, weight, bias)
    theirs = F.linear(x, weight, bias)
    return yours, theirs
