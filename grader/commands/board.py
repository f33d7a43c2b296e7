"""The board, which no command at all means: what has been done, and the next step."""

from __future__ import annotations

import argparse


def run(given: argparse.Namespace) -> int:
    """Print the board."""
    from grader.batch.board import show_board

    return show_board(given.answers)
