"""Folders that scouts found where they were: watched under the rules that hold in them, without being entered again."""

import os

from backtraild.ignore import IGNORE_FILES, FolderRules
from backtraild.model import Path, split_path
from backtraild.scan.folders import open_folder, read_rules
from backtraild.scan.observer import Observer
from backtraild.scouts.report import Report


def adopt(root: bytes, rules: FolderRules, report: Report, observer: Observer) -> list[Path]:
    """Have all folders of a report observed; those whose ignore files can't be read, which have to be looked at."""
    known = _KnownRules(rules)
    shut: list[Path] = []
    for folder in sorted(report.ruling):
        try:
            known.refine(folder, _with_its_files(root, folder, known(folder)))
        except OSError:  # such as one that was moved a moment ago
            shut.append(folder)
    observer.adopt(report.numbers, known)
    return shut


class _KnownRules:
    """The rules in any folder, made when somebody asks for them; only those with ignore files are remembered."""

    def __init__(self, rules: FolderRules) -> None:
        self._made = {b"": rules}

    def refine(self, folder: Path, rules: FolderRules) -> None:
        """A folder has rules of its own."""
        self._made[folder] = rules

    def __call__(self, folder: Path) -> FolderRules:
        names: list[bytes] = []
        while folder not in self._made:
            folder, name = split_path(folder)
            names.append(name)
        rules = self._made[folder]
        for name in reversed(names):
            rules = rules.child(name)
        return rules


def _with_its_files(root: bytes, folder: Path, rules: FolderRules) -> FolderRules:
    descriptor = open_folder(os.path.join(root, folder), None)
    try:
        return read_rules(descriptor, rules, IGNORE_FILES)
    finally:
        os.close(descriptor)
