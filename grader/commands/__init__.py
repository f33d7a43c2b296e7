"""The commands, one file each, discovered: its name, its options, and what it calls."""
