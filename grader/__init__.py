"""The grader: runs the suites, names the mistakes, scores completion on CPU and CUDA."""

__version__ = "0.1.0"
