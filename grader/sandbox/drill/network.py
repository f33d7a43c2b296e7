"""Attacks that reach out."""

from __future__ import annotations

import ctypes
import os
import socket

from grader.sandbox.drill.attack import Target, attack
from grader.sandbox.kernel import call

_VIRTUAL_MACHINES, _CRYPTOGRAPHY = 40, 38


@attack()
def connect_to_judge(world: Target) -> object:
    """Connect to a port of this machine."""
    with socket.create_connection(("127.0.0.1", world.port), timeout=2) as talk:
        return talk.getpeername()


@attack()
def listen(_: Target) -> object:
    """Wait for connections."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()


@attack()
def send_datagram(_: Target) -> object:
    """Send a datagram."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as talk:
        return talk.sendto(b"x", ("127.0.0.1", 9))


@attack()
def look_up_name(_: Target) -> object:
    """Open what a name is looked up with."""
    return socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)


@attack()
def connect_by_path(world: Target) -> object:
    """Connect to a Unix socket by its path."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(world.socket)
        return talk.getpeername()


@attack()
def connect_by_abstract_name(world: Target) -> object:
    """Connect to a Unix socket that has no path."""
    with socket.socket(socket.AF_UNIX) as talk:
        talk.connect(f"\0{world.socket}")
        return talk.getpeername()


@attack()
def ask_kernel_for_network(_: Target) -> object:
    """Open a netlink socket."""
    return socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)


@attack("root")
def raw_packets(_: Target) -> object:
    """Open a socket for raw packets."""
    return socket.socket(socket.AF_PACKET, socket.SOCK_RAW)


@attack("perhaps")
def reach_virtual_machines(_: Target) -> object:
    """Open a socket to the machine that runs this one."""
    return socket.socket(_VIRTUAL_MACHINES, socket.SOCK_STREAM)


@attack("perhaps")
def use_kernels_cryptography(_: Target) -> object:
    """Open a socket to the kernel's cryptography, a known way to break in."""
    return socket.socket(_CRYPTOGRAPHY, socket.SOCK_SEQPACKET)


@attack()
def pair_of_sockets(_: Target) -> object:
    """Make sockets that no one else has."""
    return socket.socketpair()


@attack()
def send_descriptor(world: Target) -> object:
    """Send an open file along one's own connection."""
    with socket.socket(fileno=os.dup(world.talk)) as talk:
        return socket.send_fds(talk, [b"through: a descriptor"], [0])


@attack("perhaps")
def send_to_address(world: Target) -> object:
    """Send to an address from one's own connection."""
    address = ctypes.create_string_buffer(b"\x01\x00" + os.fsencode(world.socket))
    data = ctypes.create_string_buffer(b"through: an address")
    return call("sendto", world.talk, data, 19, 0, address, len(address))


@attack("perhaps")
def send_out_of_turn(world: Target) -> object:
    """Send data out of turn, which the kernel has handled wrongly before."""
    with socket.socket(fileno=os.dup(world.talk)) as talk:
        return talk.send(b"!", socket.MSG_OOB)


@attack()
def set_option_of_connection(world: Target) -> object:
    """Change how one's own connection works."""
    with socket.socket(fileno=os.dup(world.talk)) as talk:
        talk.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
    return "changed"


@attack("perhaps")
def rings_of_calls(_: Target) -> object:
    """Set up io_uring, whose calls no filter sees."""
    return call("io_uring_setup", 4, ctypes.create_string_buffer(120))
