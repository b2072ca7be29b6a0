"""Labelled tables in two layouts, their domains and supports, and the way to integer codes and back."""
