"""The command line: what people type, what they see. The library below it knows nothing of a terminal."""

import sys

# msgspec asks typing_extensions, where that is installed, for a name that typing has as well. With all it imports
# in turn that is a tenth of the time a command takes, so it is not found here; no other thread runs yet.
_absent = "typing_extensions" not in sys.modules
if _absent:
    sys.modules["typing_extensions"] = None  # type: ignore[assignment]
import msgspec  # noqa: E402, F401

if _absent:
    del sys.modules["typing_extensions"]
