"""Reading an answer's code without running it: which calls stand in it, and which names it uses."""
