"""The students' pack: what a student needs of the kit, and no line of a solution."""
