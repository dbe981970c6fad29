"""Restore: the only code that writes into a workspace.

Deciding (`make_plan`) is apart from doing (`apply`). What is done is a transaction: a journal, durable before
the first change; new content staged in the workspace's own file system; files exchanged with it, each checked
after it came out; old files kept until nothing can fail any more. `recover` finishes it after a crash.

1. Only what the safety checkpoint holds is replaced or removed. Anything else is a conflict and stays.
2. No symlink is followed and no path with a slash is handed to the kernel, except the root's.
3. Nothing inside any `.git` is written or removed.
4. The journal stays until the caller has recorded the outcome, and `conclude` is called.
5. A restore that fails leaves every file as it was, the same inodes with the same times.
"""

from backtraild.restore.applying import apply
from backtraild.restore.attempt import Outcome, effort
from backtraild.restore.calls import OS, Calls
from backtraild.restore.ground import Ground, give_back
from backtraild.restore.hostile import refuse_hostile
from backtraild.restore.journal import forget, pending
from backtraild.restore.plan import Conflict, Delete, ModeChange, Plan, Reason, Write
from backtraild.restore.planning import make_plan
from backtraild.restore.populate import Population
from backtraild.restore.recovery import conclude, recover

__all__ = [
    "OS",
    "Calls",
    "Conflict",
    "Delete",
    "Ground",
    "ModeChange",
    "Outcome",
    "Plan",
    "Population",
    "Reason",
    "Write",
    "apply",
    "conclude",
    "effort",
    "forget",
    "give_back",
    "make_plan",
    "pending",
    "recover",
    "refuse_hostile",
]
