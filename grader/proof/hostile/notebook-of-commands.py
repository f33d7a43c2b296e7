"""Is a notebook whose cells hold shell commands, magics and a deep pile of brackets.

chapter: ex02_scaling
onto: nothing
earns: scale_scores
outcomes: not started, failed, error
passes: refuses[scaled_scores
"""
# file: ex02_scaling.ipynb
{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 1, "source":
  "!touch /tmp/hostile-was-here\n%run ../solutions/ex02_scaling.py\n%load_ext autoreload"},
 {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": 2, "source":
  "%%bash\ntouch /tmp/hostile-was-here"},
 {"cell_type": "code", "metadata": {"tags": [{}, 7, "scaled_scores"]}, "outputs": [{}], "source":
  ["import os\n", "os._exit(0)\n", "get_ipython().system('touch /tmp/hostile-was-here')"]},
 {"cell_type": "code", "metadata": {}, "outputs": [], "source":
  "def scale_scores(scores, d_k):\n    return scores / d_k**0.5\n"},
 {"cell_type": "code", "metadata": {}, "outputs": [], "source":
  "def scaled_scores(query, key):\n    return !cat ../solutions/ex02_scaling.py\n"},
 {"cell_type": "code", "metadata": {}, "outputs": [], "source":
  "x = ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((("},
 {"cell_type": "\u001b[2J", "source": {"a": []}}
]}
