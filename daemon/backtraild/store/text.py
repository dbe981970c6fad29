"""Text or not, and how many lines: git's own rules."""


def is_binary(content: bytes) -> bool:
    """A NUL byte near the beginning."""
    return content.find(b"\0", 0, 8000) >= 0


def count_lines(content: bytes) -> int:
    """An unfinished last line is one."""
    return content.count(b"\n") + (content[-1:] not in (b"", b"\n"))


def count_text_lines(content: bytes) -> int | None:
    """Lines of a text; None for what is none."""
    return None if is_binary(content) else count_lines(content)
