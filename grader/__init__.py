"""The grader: runs the suites, names the mistakes, scores completion on CPU and CUDA."""

import os

__version__ = "0.1.0"

# torch is imported without the packages that bring devices: one that fails, prints or ends its
# process would take ours with it; grader/devices.py loads what is asked for
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
