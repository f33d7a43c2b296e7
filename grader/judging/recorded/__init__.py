"""What a students' pack has in the place of answers: numbers, recorded once, for one seed.

The kit itself works out what is right, and what each slip gives. A pack has neither solutions nor
the suites' arithmetic nor slips; it has files beside this one, written by `grader release`: what
the checks expect, what the pictures of `grader show` expect, and what each slip gives in each
check. Of a chapter without such files everything is worked out.
"""

from __future__ import annotations

from grader.judging.recorded.chapter import SEED, is_pack, of_slip, picture, tape

__all__ = ["SEED", "is_pack", "of_slip", "picture", "tape"]
