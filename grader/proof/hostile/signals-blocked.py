"""Blocks and replaces every signal and timer that might end it, then sleeps.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: timeout
says: did not come back in time
"""

import signal
import time


def scaled_scores(query, key):
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        try:
            signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError):
            pass
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.setitimer = signal.alarm = signal.signal = lambda *_: None
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    while True:
        try:
            time.sleep(1000)
        except BaseException:
            pass
