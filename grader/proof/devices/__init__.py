"""Programs that are right or wrong on a GPU, and what the dry run says of them."""
