"""Integer tables from distributions and counts: draws, records, rounding."""

from purtensor.sampling.draw import sample, sample_without_replacement
from purtensor.sampling.records import to_records
from purtensor.sampling.rounding import round_counts

__all__ = ["round_counts", "sample", "sample_without_replacement", "to_records"]
