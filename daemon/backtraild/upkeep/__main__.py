"""`python -m backtraild.upkeep PARENT`: one order on standard input, one outcome on standard output."""

import sys

import msgspec

from backtrail.errors import BacktrailError
from backtraild.store import Swept, Tidied, Weighed, aside
from backtraild.upkeep import humility
from backtraild.upkeep.orders import Order, Tidy, Weigh
from backtraild.upkeep.tidying import tidy
from backtraild.upkeep.weighing import weigh


def main() -> int:
    """Carry out the order; its failure is told in a sentence on standard error."""
    humility.step_back()
    order: Order = msgspec.json.decode(sys.stdin.buffer.readline(), type=Order)
    humility.end_with_parent(int(sys.argv[1]))
    if isinstance(order, Tidy) and not order.urgent:  # else saves may have to wait for the space
        humility.wait_for_idleness()
    try:
        outcome = _outcome(order)
    except BacktrailError as error:
        return _failed(error.message)
    except OSError as error:
        return _failed(f"{error.strerror or error}{f' ({error.filename})' if error.filename else ''}.")
    sys.stdout.buffer.write(msgspec.json.encode(outcome))
    sys.stdout.buffer.flush()
    return 0


def _outcome(order: Order) -> Weighed | Tidied | Swept:
    if isinstance(order, Weigh):
        return weigh(order)
    aside.sweep(
        order.git_dir
    )  # also before more is put there: the daemon may have ended before it came to it
    return tidy(order) if isinstance(order, Tidy) else Swept()


def _failed(reason: str) -> int:
    sys.stderr.write(reason + "\n")
    return 1


if __name__ == "__main__":
    sys.exit(main())
