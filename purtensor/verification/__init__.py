"""Independent checks of an answer: from its tables alone, by code that the solvers do not share."""
