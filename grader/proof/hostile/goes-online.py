"""Connects to everything by every kind of socket, and says what it has reached.

chapter: ex02_scaling
earns: scale_scores, score_spread
outcomes: error, failed
never: reached
"""

import socket
import urllib.request


def scaled_scores(query, key):
    for family, kind, to in (
        (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 22)),
        (socket.AF_INET, socket.SOCK_STREAM, ("1.1.1.1", 80)),
        (socket.AF_INET, socket.SOCK_DGRAM, ("8.8.8.8", 53)),
        (socket.AF_INET6, socket.SOCK_STREAM, ("::1", 80)),
        (socket.AF_UNIX, socket.SOCK_STREAM, "/var/run/docker.sock"),
        (socket.AF_UNIX, socket.SOCK_STREAM, "\0abstract"),
        (socket.AF_NETLINK, socket.SOCK_RAW, (0, 0)),
        (socket.AF_PACKET, socket.SOCK_RAW, ("lo", 0)),
    ):
        try:
            with socket.socket(family, kind) as made:
                made.settimeout(0.2)
                made.connect(to) if family != socket.AF_PACKET else made.bind(to)
                raise SystemExit(f"reached {to}")
        except OSError:
            pass
    for make in (socket.socketpair, lambda: socket.create_server(("", 0))):
        try:
            make()
            raise SystemExit("reached by a socket of its own")
        except OSError:
            pass
    try:
        urllib.request.urlopen("http://127.0.0.1:80/", timeout=0.2)
        raise SystemExit("reached by HTTP")
    except OSError:
        return query
