"""A course's own rules: what counts, how much, until when, and what of it students see."""
