"""What the sandbox says about its walls, and what it keeps of the environment."""

from __future__ import annotations

import json
import sys

import pytest

from grader.sandbox import Isolation, SandboxError, clean_environment, probe

ALL = Isolation(
    "linux",
    landlock=7,
    seccomp=True,
    namespaces="user",
    spaces=("mount", "pid", "net", "ipc", "uts"),
    capabilities=True,
    threads="own",
    limits=True,
)


def test_in_one_line():
    assert ALL.says == ("Landlock 7, seccomp, user+mount+pid+net+ipc+uts namespaces, limits")
    assert ALL.complete


@pytest.mark.parametrize(
    ("layers", "lost"),
    [
        (("seccomp",), "use the network"),
        (("limits",), "use up the memory"),
        (("namespaces",), "which numbers of processes"),
        (("landlock", "namespaces"), "read the solutions"),
    ],
)
def test_names_what_is_lost(layers, lost):
    isolation = ALL
    for layer in layers:
        isolation = isolation.without(layer)
    assert any(lost in sentence for sentence in isolation.missing)
    assert not isolation.complete


def test_is_plain_data():
    assert Isolation.from_json(json.loads(json.dumps(ALL.to_json()))) == ALL


@pytest.mark.parametrize("system", ["darwin", "win32"])
def test_elsewhere_there_is_only_a_process(system, monkeypatch):
    monkeypatch.setattr(sys, "platform", system)
    isolation = probe.offered.__wrapped__()
    assert not isolation.complete
    assert "process of its own" in isolation.missing[0]
    assert isolation.says in ("limits", "a process of its own")


def test_what_cannot_be_tried_is_an_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    monkeypatch.setattr(sys, "platform", "linux")
    with pytest.raises(SandboxError, match="could not be tried out"):
        probe.offered.__wrapped__()


def test_environment_holds_nothing_of_the_judges():
    given = {"AWS_SECRET_ACCESS_KEY": "1", "HOME": "/root", "LANG": "C.UTF-8", "PATH": "/bin"}
    kept = clean_environment(given)
    assert kept["LANG"] == "C.UTF-8"
    assert not {"AWS_SECRET_ACCESS_KEY", "HOME", "PATH"} & set(kept)
