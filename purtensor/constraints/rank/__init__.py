"""Which rows of the coefficients are independent, decided exactly."""
