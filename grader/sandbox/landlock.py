"""Landlock: the kernel keeps a process from every file that is not named here."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Iterable
from pathlib import Path

from grader.sandbox.kernel import call, no_new_privileges

_RIGHTS = (
    *("execute", "write_file", "read_file", "read_dir", "remove_dir", "remove_file"),
    *("make_char", "make_dir", "make_reg", "make_sock", "make_fifo", "make_block", "make_sym"),
    *("refer", "truncate", "ioctl_dev"),
)
_BIT = {name: 1 << place for place, name in enumerate(_RIGHTS)}
# how many of the rights a version of Landlock knows; each version keeps those before it
_KNOWN = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_NO_TCP, _NO_ABSTRACT_SOCKETS_OR_SIGNALS = 3, 3
_SINCE_TCP, _SINCE_SCOPES, _SINCE_SILENCE = 4, 6, 7
_ASK_VERSION, _RULE_BENEATH, _NO_LOG = 1, 1, 1


def _rights(*names: str) -> int:
    return sum(_BIT[name] for name in names)


READ = _rights("read_file", "read_dir")
LIST = _rights("read_dir")
WRITE = READ | _rights(
    "write_file", "remove_dir", "remove_file", "make_dir", "make_reg", "refer", "truncate"
)
# some open a file for writing by emptying it
NAME = READ | _rights("write_file", "truncate")
USE_DEVICE = _rights("read_file", "write_file", "read_dir", "ioctl_dev")
_OF_A_FILE = _rights("execute", "write_file", "read_file", "truncate", "ioctl_dev")


def version() -> int:
    """Return the version of Landlock that the kernel offers, 0 for none."""
    try:
        return call("landlock_create_ruleset", None, 0, _ASK_VERSION)
    except OSError:
        return 0


def restrict(rules: Iterable[tuple[Path, int]], offered: int) -> None:
    """Keep this process from all files but those of the rules, for good.

    Args:
        rules: files and folders, each with the rights to it and all beneath; what is not there
            is passed over.
        offered: the version of Landlock to put up.

    Raises:
        OSError: the kernel refused.
    """
    known = (1 << _KNOWN[min(offered, max(_KNOWN))]) - 1
    tcp = _NO_TCP if offered >= _SINCE_TCP else 0
    scopes = _NO_ABSTRACT_SOCKETS_OR_SIGNALS if offered >= _SINCE_SCOPES else 0
    size = 8 if offered < _SINCE_TCP else 16 if offered < _SINCE_SCOPES else 24
    handled = ctypes.create_string_buffer(struct.pack("<QQQ", known, tcp, scopes)[:size], size)
    ruleset = call("landlock_create_ruleset", handled, size, 0)
    try:
        for path, rights in rules:
            _allow(ruleset, path, rights & known)
        no_new_privileges()
        # denials would fill the machine's log
        call("landlock_restrict_self", ruleset, _NO_LOG if offered >= _SINCE_SILENCE else 0)
    finally:
        os.close(ruleset)


def _allow(ruleset: int, path: Path, rights: int) -> None:
    try:
        place = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(place).st_mode):
            rights &= _OF_A_FILE
        rule = ctypes.create_string_buffer(struct.pack("<Qi", rights, place), 12)
        call("landlock_add_rule", ruleset, _RULE_BENEATH, rule, 0)
    finally:
        os.close(place)
