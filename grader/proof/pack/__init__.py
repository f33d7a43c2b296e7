"""The proof that nothing in a students' pack is an answer, by what it does."""
