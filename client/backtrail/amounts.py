"""Amounts of bytes, as people say them."""


def size(number: int) -> str:
    """A number of bytes, in units of a thousand: `980 B`, `1.2 kB`, `34 MB`."""
    if number < 1000:
        return f"{number} B"
    amount = float(number)
    for unit in ("kB", "MB", "GB", "TB"):
        amount /= 1000
        if amount < 999.5 or unit == "TB":
            break
    return f"{amount:.1f} {unit}" if amount < 9.95 else f"{amount:,.0f} {unit}"
