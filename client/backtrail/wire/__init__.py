"""Everything between a call and the daemon's sockets: which daemon, started if need be, asked through which connection.

locating, starting, discovery, listening   which daemon there is, and how there comes to be one
connection, async_connection, links, pool  a socket, and what becomes of it
exchange, following, deadline              what to do next, decided without a socket: both clients share it
streams, async_streams                     events, in order and without holes
"""
