"""From what is to differ to a plan that may be carried out: the disk is looked at once for both."""

from backtrail.errors import RestoreFailed
from backtraild.model import Changes
from backtraild.restore.access import refuse_barred
from backtraild.restore.calls import OS, Calls
from backtraild.restore.folders import Folders
from backtraild.restore.plan import Plan, plan_in


def make_plan(root: str | bytes, changes: Changes, unchanged: int = 0, *, calls: Calls = OS) -> Plan:
    """Compare the disk with both sides of `changes` and decide.

    Raises HostileTree before it looks, and RestoreFailed with the folders and files that this user may not change.
    """
    try:
        with Folders(calls, root) as folders:
            plan = plan_in(folders, changes, unchanged)
            refuse_barred(folders, plan)
            return plan
    except OSError as error:
        raise RestoreFailed(
            f"The restore could not be planned: {error.strerror}. Nothing was changed."
        ) from error
