"""Ready-made files for the platforms that courses use; README.md says which is for what."""
