"""Integer tables from distributions and counts: draws, records, rounding."""

from purtensor.sampling.draw import sample, sample_without_replacement
from purtensor.sampling.rounding import round_counts
from purtensor.sampling.rows import to_records

__all__ = ["round_counts", "sample", "sample_without_replacement", "to_records"]
