"""Switches gradients off, for good, at import and in every call.

chapter: ex02_scaling
earns: score_spread
partly: scaled_scores, scale_scores
outcomes: failed
"""

torch.set_grad_enabled(False)
torch._C._set_grad_enabled(False)
inference = torch.inference_mode()
inference.__enter__()
