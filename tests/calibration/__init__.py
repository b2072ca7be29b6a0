"""Tests of purtensor.calibration."""
