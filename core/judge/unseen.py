"""Mistakes of the catalogue that no verdict sees."""

UNSEEN = frozenset(
    (
        "mask-nan-leaks/main",
        "mask-row-all-false-nan/function",
        "mask-row-all-false-nan/main",
        "mask-nan-patched-late/main",
        "no-divisibility-check/fails-later",
        "gqa-no-sharing-check/fails-later",
        "cross-batch-unchecked/broadcasts",
        "cross-batch-unchecked/fails-later",
        "projection-bias-mismatch/main",
    )
)
"""What is right as the problems are put: no query is left without a key, no hidden value is nan, sizes that do not
divide may fail late, a bias may be there or not. A solution with one of them passes. "mistake/form"."""
