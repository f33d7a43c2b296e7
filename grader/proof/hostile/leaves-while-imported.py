"""Ends its process with status 0 while its file is imported.

chapter: ex02_scaling
earns: nothing
outcomes: crashed
says: while it was imported
"""

import os

os._exit(0)
