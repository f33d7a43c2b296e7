"""The proof: the kit shows that its own tests are right."""
