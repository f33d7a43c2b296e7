"""All that a machine with a GPU can prove of the kit, in one command."""
