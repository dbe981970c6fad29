"""The daemon's sockets: the only package in it that knows ZeroMQ.

```
ROUTER → loop → envelope → reception → worker, pool or loop → envelope → loop → ROUTER
event log → bulletin → loop → PUB
```
One thread owns all sockets. It decodes and hands over; others do the work and give back finished bytes.
"""

from backtraild.server.probe import is_answering
from backtraild.server.server import Server

__all__ = ["Server", "is_answering"]
