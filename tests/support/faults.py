"""The operating system with one thing wrong, put in the place of `os` inside chosen modules."""

import os
from types import ModuleType
from typing import Any

import pytest


class FaultyOs:
    """`os`, but one call of one function fails, or that one and all that follow."""

    def __init__(self, name: str, nth: int, number: int, *, lasting: bool) -> None:
        self._name = name
        self._left = nth
        self._number = number
        self._lasting = lasting
        self.failed = False

    def __getattr__(self, name: str) -> Any:
        real = getattr(os, name)
        return self._wrap(real) if name == self._name else real

    def _wrap(self, real: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            self._left -= 1
            if self._left == 0 or (self._lasting and self._left < 0):
                self.failed = True
                raise OSError(self._number, os.strerror(self._number))
            return real(*arguments, **named)

        return call


class StingyOs:
    """`os`, but every write takes only a part of what it is given, as the kernel may."""

    def __getattr__(self, name: str) -> Any:
        return self._write if name == "write" else getattr(os, name)

    @staticmethod
    def _write(descriptor: int, content: bytes) -> int:
        return os.write(descriptor, content[: max(1, len(content) // 3)])


def install(substitute: object, modules: list[ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the substitute to the modules, and to nobody else."""
    for module in modules:
        monkeypatch.setattr(module, "os", substitute)
