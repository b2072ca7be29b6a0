"""Weights for records: calibration to controls of any kind, with what surveys ask of it."""
