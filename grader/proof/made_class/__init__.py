"""A class as it hands in: right, wrong and half-done answers, in all the shapes of platforms."""
