"""Looking at the disk: what differs from the last checkpoint, and the content of what is new.

What happened is decided by lstat against the stat table, never by what an event claimed. Every folder is
entered through the descriptor of its parent, so a folder swapped for a symlink leads nowhere.
"""

from backtraild.scan.adopting import adopt
from backtraild.scan.capture import capture_plain
from backtraild.scan.crawl import crawl
from backtraild.scan.deputy import Answer
from backtraild.scan.findings import ScanResult
from backtraild.scan.observer import NoObserver, Observer
from backtraild.scan.scanner import Scanner

__all__ = ["Answer", "NoObserver", "Observer", "ScanResult", "Scanner", "adopt", "capture_plain", "crawl"]
