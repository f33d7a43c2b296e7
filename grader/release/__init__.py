"""The students' pack: what a student needs of the kit, and no line of a solution."""


class ReleaseError(Exception):
    """Nothing was written; the sentence says why."""
