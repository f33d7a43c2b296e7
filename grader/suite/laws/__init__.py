"""The laws that hold for every function of the contract, each stated once."""
