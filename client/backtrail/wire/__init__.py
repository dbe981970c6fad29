"""Everything between a call and the daemon's sockets: which daemon, started if need be, asked through which connection.

locating, starting, discovery, listening   which daemon there is, and how there comes to be one
connection, pool                           what a connection does, and where idle ones are kept
local, zmtp                                a daemon on this machine, spoken to without ZeroMQ
remote, progress, async_connection, links  ZeroMQ's sockets, and what becomes of them
exchange, following, deadline              what to do next, decided without a socket: both clients share it
streams, async_streams                     events, in order and without holes
"""
