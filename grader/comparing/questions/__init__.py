"""What opens the seals, a chapter a file: questions with one right answer, however it is found.

`QUESTIONS` holds one for each function. It is given the function, and returns what that answers:
tensors, numbers and words. Numbers are rounded to whole ones, so a question makes them whole, or
asks where they are far from a half.
"""
