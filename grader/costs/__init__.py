"""What calls of an answer cost: the tensors that they make, counted where PyTorch makes them."""

from grader.costs.cost import MEASURES, Cost, Measure
from grader.costs.counting import Counting

__all__ = ["MEASURES", "Cost", "Counting", "Measure"]
