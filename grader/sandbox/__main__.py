"""`python -m grader.sandbox` says which walls this machine gives to its user, and tries them."""

from __future__ import annotations

import argparse
import json
import os
import sys

from grader.sandbox.isolation import LAYERS, Isolation
from grader.sandbox.kernel import SandboxError
from grader.sandbox.probe import find, offered


def main() -> int:
    """Run the command.

    Returns:
        The exit status: 1 if an attack gets through, or if ordinary work does not.
    """
    parser = argparse.ArgumentParser(prog="python -m grader.sandbox", description=__doc__)
    parser.add_argument("--offered", action="store_true", help="only find out, as plain data")
    parser.add_argument("--work", action="store_true", help="ordinary work, not attacks")
    parser.add_argument("--gpu", action="store_true", help="as for a worker that uses a GPU")
    parser.add_argument("--json", action="store_true", help="plain data")
    parser.add_argument(
        "--without", choices=LAYERS, action="append", default=[], help="leave a layer out"
    )
    given = parser.parse_args()
    if given.offered:
        json.dump(find().to_json(), sys.stdout)
        return 0
    try:
        isolation = offered()
    except SandboxError as error:
        print(error, file=sys.stderr)
        return 1
    for layer in given.without:
        isolation = isolation.without(layer)
    if sys.platform != "linux":
        _show(isolation)
        return 0
    return _drill(isolation, given)


def _drill(isolation: Isolation, given: argparse.Namespace) -> int:
    from grader.sandbox.drill.attack import ATTACKS
    from grader.sandbox.drill.ordinary import WORK
    from grader.sandbox.drill.run import got_through, run

    results = run(isolation, "work" if given.work else "attacks", given.gpu)
    through = got_through(results)
    good = len(through) == len(results) if given.work else not through
    if given.json:
        print(json.dumps({"isolation": isolation.to_json(), "results": results}))
        return 1 - good
    _show(isolation)
    about = {name: attack.what for name, attack in ATTACKS.items()}
    about |= {name: deed.__doc__ or "" for name, deed in WORK.items()}
    for name, result in results.items():
        print(f"{about[name][:90]:92}{result[:80]}")
    print(f"{len(through)} of {len(results)} got through.")
    return 1 - good


def _show(isolation: Isolation) -> None:
    who = f" for user {os.getuid()}" if sys.platform != "win32" else ""
    print(f"Walls{who}: {isolation.says}.", *isolation.missing, sep="\n")


if __name__ == "__main__":
    sys.exit(main())
