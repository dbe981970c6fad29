"""What a daemon takes for the machine's being started again, in a world of mounts of its own."""

import uuid
from pathlib import Path

from support.mounts import run

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot(folder: Path) -> None:
    """From now on the machine says that it was started anew."""
    said = folder / f"boot-{uuid.uuid4().hex}"
    said.write_text(f"{uuid.uuid4()}\n")
    run("mount", "--bind", said, BOOT_ID)
