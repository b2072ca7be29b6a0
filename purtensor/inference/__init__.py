"""What sampling does to a projection: standard errors by the delta method."""

from purtensor.inference.delta_method import StandardErrors, standard_errors

__all__ = ["StandardErrors", "standard_errors"]
