"""The figures of the project, each measured beside its peer in the same run on the same machine."""
