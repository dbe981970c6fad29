"""The daemon: a workspace's files in, checkpoints in a shadow git repository out, and back again."""
