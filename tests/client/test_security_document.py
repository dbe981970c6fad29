"""docs/SECURITY.md: every test that stands behind a claim exists under the name that is given there."""

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).parents[2]
TEXT = (PROJECT / "docs" / "SECURITY.md").read_text(encoding="utf-8")
_NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def test_every_test_that_the_page_names_exists():
    """A claim whose test was renamed or removed is a claim that nobody checks."""
    named = _NAMED.findall(TEXT)
    assert len(named) > 15
    missing = [f"{file}::{name}" for file, name in named if name not in functions(PROJECT / file)]
    assert missing == []


def functions(file: Path) -> set[str]:
    """The names of a module's functions; none if there is no such module."""
    if not file.exists():
        return set()
    module = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
