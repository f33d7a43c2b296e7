"""The proof of the kit."""

from __future__ import annotations

import argparse

HELP = "prove the kit: stubs, solutions, slips, variants"


def add(parser: argparse.ArgumentParser) -> None:
    """Add seed and device."""
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs (default: 0)")
    parser.add_argument("--device", default="cpu", help="cpu or cuda (default: cpu)")


def run(given: argparse.Namespace) -> int:
    """Prove."""
    from grader.proof.prove import prove

    return prove(given.seed, given.device)
