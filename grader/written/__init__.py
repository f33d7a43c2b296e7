"""The chapters as a student has written them, in files and notebooks: nothing of them is run."""
