"""Reports: results in, text or files out."""
