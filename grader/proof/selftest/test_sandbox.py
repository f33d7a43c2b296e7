"""The walls around a worker: they stop every attack, which would get through else; work goes on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from grader.sandbox import Isolation, offered
from grader.sandbox.isolation import LAYERS

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="the walls are Linux's own"),
]
KIT = Path(__file__).parents[3]
NOBODY = "65534"
needs_root = pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="only root can become another"
)
each_user = pytest.mark.parametrize("user", ["current", pytest.param("ordinary", marks=needs_root)])
# what gets through where a machine lacks a protection, by the sentence that says so
EXCUSED = {
    "which numbers of processes": {"judge_is_there"},
    "any number of threads": {"threads", "threads_of_small_size"},
}


def drill(
    user: str, *options: str, without: tuple[str, ...] = ()
) -> tuple[Isolation, dict[str, str]]:
    """Run the attacks, or what the options say, with some layers left out."""
    become = ("-m", "grader.sandbox.drill.as_user", NOBODY) if user == "ordinary" else ()
    left_out = [word for layer in without for word in ("--without", layer)]
    ran = subprocess.run(
        [sys.executable, *become, "-m", "grader.sandbox", "--json", *options, *left_out],
        cwd=KIT,
        env={**os.environ, "PYTHONPATH": str(KIT), "JUDGE_SECRET": "1"},
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert ran.returncode in (0, 1), ran.stderr
    data = json.loads(ran.stdout)
    return Isolation.from_json(data["isolation"]), data["results"]


def through(results: dict[str, str]) -> set[str]:
    """Name what was not stopped."""
    return {name for name, result in results.items() if not result.startswith("stopped: ")}


def open_without_walls(user: str, walls: Isolation) -> set[str]:
    """Name the attacks that must get through where nothing stands in their way."""
    from grader.sandbox.drill.run import ATTACKS

    who = {"anyone"}
    if user == "current" and walls.namespaces == "root":
        who.add("root")
    yama = Path("/proc/sys/kernel/yama/ptrace_scope")
    if not yama.exists() or yama.read_text().strip() == "0":
        who.add("tracers")
    return {name for name, attack in ATTACKS.items() if attack.open_to in who}


@pytest.fixture(scope="module")
def walls() -> Isolation:
    """Find out what this machine offers; these tests need it to offer the essential."""
    found = offered()
    if not (found.landlock or found.room) or not found.seccomp:
        pytest.skip(f"this machine has no walls to test: {found.says}")
    return found


@each_user
def test_every_attack_is_stopped(user, walls):
    isolation, results = drill(user)
    excused = set()
    for sentence in isolation.missing:
        excused |= next((names for part, names in EXCUSED.items() if part in sentence), set())
    got = through(results) - excused
    assert len(results) > 150
    assert not got, {name: results[name] for name in got}


@each_user
def test_without_walls_they_get_through(user, walls):
    _, results = drill(user, without=LAYERS)
    expected = open_without_walls(user, walls)
    stopped = expected - through(results)
    assert len(expected) > 90
    assert not stopped, {name: results[name] for name in stopped}


@pytest.mark.parametrize(
    ("layer", "opens"),
    [
        (
            "seccomp",
            "fork fork_twice fork_by_clone fork_by_newer_clone pair_of_sockets send_descriptor "
            "file_in_memory shared_segment outlive_nursery be_traced lock_shared_file "
            "memory_shared memory_that_grows_down stack_without_end "
            "kill_oneself kill_own_thread kill_own_thread_by_both_numbers queue_own_end "
            "kill_oneself_by_handle be_killed_for_time "
            "other_kind_of_machine type_for_the_user",
        ),
        (
            "limits",
            "memory_at_once memory_bit_by_bit memory_mapped memory_made_read_only threads "
            "open_files "
            "threads_of_small_size raise_limits",
        ),
    ],
)
def test_a_layer_that_is_left_out_is_missed(layer, opens, walls):
    isolation, results = drill("current", without=(layer,))
    assert set(opens.split()) <= through(results)
    assert not isolation.complete


def test_room_and_landlock_each_keep_the_files_alone(walls):
    if not (walls.landlock and walls.room):
        pytest.skip("this machine has only one of them")
    _, results = drill("current", without=("landlock",))
    assert not through(results)
    _, results = drill("current", without=("namespaces", "own_uid"))
    assert through(results) <= set().union(*EXCUSED.values())


def test_without_room_and_landlock_the_files_are_open(walls):
    isolation, results = drill("current", without=("landlock", "namespaces", "own_uid"))
    assert through(results) >= {
        *("read_secret", "read_through_link", "read_hidden_inside_readable", "read_home"),
        *("read_other_submission", "overwrite_own_answer", "overwrite_other"),
        *("write_to_tmp", "many_large_files", "list_processes", "judges_command"),
    }
    assert any("read the solutions" in sentence for sentence in isolation.missing)


def test_walls_of_a_gpu_are_lower_only_where_they_must(walls):
    if not walls.complete:
        pytest.skip("this machine's walls are lower anyway")
    _, results = drill("current", "--gpu")
    from grader.sandbox.drill.run import OPEN_WITH_GPU

    assert through(results) == OPEN_WITH_GPU


@pytest.mark.parametrize("without", [("namespaces", "own_uid"), ("landlock",)])
def test_what_a_gpu_worker_may_write_of_its_threads_reaches_nobody_else(without, walls):
    if not (walls.complete and walls.landlock and walls.room):
        pytest.skip("this machine's walls are lower anyway")
    _, results = drill("current", "--gpu", without=without)
    got = through(results)
    assert "name_own_thread" in got
    assert not got & {
        *("write_to_judges_threads", "write_to_nurserys_threads", "write_beside_own_threads"),
        "write_kernel_setting",
    }
    # as root without a user of its own it writes to all that is its own, which Landlock cannot part
    assert walls.namespaces != "root" or ("write_to_own_threads" in got) == ("own_uid" in without)


@pytest.mark.parametrize(
    ("user", "without"),
    [
        ("current", ()),
        ("current", ("namespaces", "own_uid")),
        pytest.param("ordinary", (), marks=needs_root),
    ],
)
def test_ordinary_work_goes_on(user, without, walls):
    isolation, results = drill(user, "--work", without=without)
    assert {name for name in results if results[name].startswith("through: ")} == set(results)
    assert {"import_own_answer", "train", "threads", "alarm"} <= set(results)
    assert ("save_to_file" in results) == isolation.room
    assert "can't allocate memory" in results["too_much_for_pytorch"]
