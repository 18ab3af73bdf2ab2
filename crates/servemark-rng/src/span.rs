//! Integer ranges as both NumPy generators see them: a low end and the largest offset from it.

/// The largest offset from `low` that stays below `high`; `None` if the range is empty.
pub(crate) fn span(low: i64, high: i64) -> Option<u64> {
    (low < high).then(|| high.wrapping_sub(low).cast_unsigned() - 1)
}
