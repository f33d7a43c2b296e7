"""Loops for ever while it is imported, with all signals blocked.

chapter: ex02_scaling
earns: nothing
outcomes: timeout
says: while it was imported
"""

import signal

signal.pthread_sigmask(signal.SIG_BLOCK, set(range(1, 65)) - {32, 33})
while True:
    pass
