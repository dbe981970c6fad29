"""Conversations in the git store: append-only generations of lines, cut into chunks.

`Transcripts` is its face. `refs/transcripts/<key>` holds a tree:

    000001/about                      how many messages and bytes, their hash, what was redacted (JSON)
    000001/<first line>/<first line>  a chunk of whole lines; a folder holds up to 256
    000002/…                          begun when the conversation was no longer an extension of the one before

The names of chunks and folders are the numbers of their first lines: message n is found by bisecting two small
trees. An append writes its lines (with the last chunk, while that is small), one folder, the generation, the root and
a commit, in one pack, however long the conversation is.
"""

from backtrail.errors import UnknownConversation, UnreadableTranscript
from backtraild.transcripts.compaction import Compaction
from backtraild.transcripts.model import (
    Generation,
    Lines,
    Messages,
    Recorded,
    Redactor,
    Source,
    TranscriptFile,
)
from backtraild.transcripts.transcripts import Transcripts

__all__ = [
    "Compaction",
    "Generation",
    "Lines",
    "Messages",
    "Recorded",
    "Redactor",
    "Source",
    "TranscriptFile",
    "Transcripts",
    "UnknownConversation",
    "UnreadableTranscript",
]
