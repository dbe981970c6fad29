"""A conversation on the full screen: what a key does and what is drawn are pure; only `fullscreen` knows curses."""
