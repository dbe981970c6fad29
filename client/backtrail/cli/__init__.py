"""The command line: it asks the daemon through the client library and shows the answers."""
