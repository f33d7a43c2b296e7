"""Changes every global switch: threads, determinism, device, warnings, recursion, folder, paths.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
outcomes: failed
"""

import gc
import locale
import os
import sys
import warnings

torch.use_deterministic_algorithms(True)
torch.set_num_threads(8)
torch.set_flush_denormal(True)
torch.set_printoptions(precision=0)
torch.autograd.set_detect_anomaly(False)
torch.backends.mkldnn.enabled = False
warnings.simplefilter("error")
sys.setrecursionlimit(200)
sys.setswitchinterval(10)
sys.path.clear()
sys.dont_write_bytecode = False
os.umask(0)
gc.disable()
for change in (
    lambda: os.chdir("/"),
    lambda: locale.setlocale(locale.LC_ALL, ""),
    os.environ.clear,
):
    try:
        change()
    except Exception:
        pass
