"""The questions of each chapter, in the order in which they are asked."""
