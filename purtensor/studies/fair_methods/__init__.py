"""Ways to fair predictions side by side: PUR in its forms, and what other packages have."""
