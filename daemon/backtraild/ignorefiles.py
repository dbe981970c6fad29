"""The files in which a workspace's owner writes down what is not to be captured."""

GITIGNORE = b".gitignore"
BACKTRAILIGNORE = b".backtrailignore"
IGNORE_FILES = (GITIGNORE, BACKTRAILIGNORE)
IN_THEIR_NAMES = b"ignore"  # and in few others
