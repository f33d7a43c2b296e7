"""Answers that break, hold or fill a GPU, and what has to come of them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader import places
from grader.proof.cuda.grading import graded

# what a softmax does on a device where it is asked for float64, and nowhere else
HARM = {
    "breaks": "torch.zeros(2, device=scores.device)[torch.tensor([9], device=scores.device)]",
    "holds": "torch.get_device_module(scores.device.type)._sleep(1 << 60)",
    "fills": "torch.empty(1 << 31, dtype=torch.uint8, device=scores.device)",
    "does nothing": "None",
}
# what becomes of the first such check, and how its message says it
SAYS = {
    "breaks": ("crashed", " broken and was ended: "),
    "holds": ("timeout", "did not come back in time"),
    "fills": ("error", "out of memory"),
}
SECONDS, MEGABYTES = 1, 1024
BEGINS = "    if scores.numel() == 0:\n        return scores.clone()\n"
WHERE = "scores.dtype == torch.float64 and scores.device.type != 'cpu'"


def harmed(solution: str, harm: str) -> str:
    """Let the softmax of a solution do harm."""
    if solution.count(BEGINS) != 1:
        raise ValueError("the solution of softmax begins in another way now")
    return solution.replace(BEGINS, f"    if {WHERE}:\n        {HARM[harm]}\n{BEGINS}")


def checks_of_all(device: str, space: Path) -> dict[str, list[dict[str, Any]]]:
    """Grade an answer that does each harm; return the checks of its softmax, by harms.

    Raises:
        RuntimeError: nothing was graded, or another function lost a check as well.
    """
    for harm in HARM:
        folder = space / "answers" / harm
        folder.mkdir(parents=True)
        for path in places.SOLUTIONS.glob("ex*.py"):
            text = path.read_text(encoding="utf-8")
            is_it = path.stem == "ex04_softmax"
            (folder / path.name).write_text(harmed(text, harm) if is_it else text, "utf-8")
    options = ("--only", "softmax,mean_pool", "--time-limit", SECONDS, "--jobs", 2)
    report = space / "report.json"
    found = graded(
        space / "answers", device, report, *options, "--memory", MEGABYTES, schema="json1"
    )
    told = found["submissions"]
    for one in told:
        if {check["outcome"] for check in one["exercises"][1]["checks"]} != {"passed"}:
            raise RuntimeError(f"a function that does no harm lost a check: {one['id']}")
    return {one["id"]: one["exercises"][0]["checks"] for one in told}


def problems(told: dict[str, list[dict[str, Any]]]) -> list[str]:
    """Say what should not have come of it."""
    found = []
    if {check["outcome"] for check in told["does nothing"]} != {"passed"}:
        found.append("without harm not every check passes")
    for harm, (outcome, says) in SAYS.items():
        lost = [check for check in told[harm] if check["outcome"] != "passed"]
        if not lost or lost[0]["outcome"] != outcome or says not in lost[0]["message"]:
            found.append(f"what {harm} the device: {lost[:1]}")
            continue
        after = told[harm][told[harm].index(lost[0]) :]
        # as on the CPU, what did not come back is not called again
        if any(check["outcome"] == "passed" for check in after) == (harm == "holds"):
            found.append(f"what {harm} the device: {[check['outcome'] for check in after]} after")
    return found
