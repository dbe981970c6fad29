"""The table beside the store: what the disk looked like, and where to find checkpoints quickly.

Everything in it can be made again from git and from the disk: it is thrown away when it is damaged.
"""

from backtraild.state.ahead import Ahead
from backtraild.state.bundle import READ_AGAIN, Row, Stat
from backtraild.state.connection import Connection, TableLost
from backtraild.state.database import Database
from backtraild.state.eventlog import EventLog
from backtraild.state.eventquery import EventQuery
from backtraild.state.folder_listings import FolderListings
from backtraild.state.index import Index, Query
from backtraild.state.listing import listed_checkpoints
from backtraild.state.places import walking_order
from backtraild.state.skips import Skips
from backtraild.state.stats import StatTable

__all__ = [
    "READ_AGAIN",
    "Ahead",
    "Connection",
    "Database",
    "EventLog",
    "EventQuery",
    "FolderListings",
    "Index",
    "Query",
    "Row",
    "Skips",
    "Stat",
    "StatTable",
    "TableLost",
    "listed_checkpoints",
    "walking_order",
]
