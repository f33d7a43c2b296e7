"""Brings a notebook of the same chapter that is no notebook: the file beside it counts.

chapter: ex02_scaling
earns: scale_scores, scaled_scores, score_spread
outcomes: failed
"""
# file: ex02_scaling.ipynb
[[[[[[[[[[[[[[[[[[[[[[[[[[[[{"cells": NaN, "cells": [[[[[
