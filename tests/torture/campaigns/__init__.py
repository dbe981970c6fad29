"""One module for each kind of trouble, with its `CAMPAIGNS`: `make torture` runs them for long, tests for a moment."""
