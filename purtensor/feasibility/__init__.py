"""Verdicts, witnesses and explanations."""
