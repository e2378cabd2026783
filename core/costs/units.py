"""Counts as people read them; the same in both languages."""

_BINARY = ("B", "KiB", "MiB", "GiB", "TiB")
_DECIMAL = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP")


def bytes_text(count: int) -> str:
    """Bytes in binary units, at most four digits: 327680 is "320 KiB"."""
    return _scaled(count, 1024, _BINARY)


def flops_text(count: int) -> str:
    """FLOPs in decimal units, at most four digits: 274877906944 is "274.9 GFLOP"."""
    return _scaled(count, 1000, _DECIMAL)


def _scaled(count: int, base: int, units: tuple[str, ...]) -> str:
    power = 0
    while count >= base ** (power + 1) and power < len(units) - 1:
        power += 1
    return f"{count / base**power:.4g} {units[power]}"
