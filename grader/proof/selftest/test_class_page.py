"""The class page and the class report: they say of a class what json says of each submission."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import statistics
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from html.parser import HTMLParser

import numpy as np
import pytest

from grader.cli import main
from grader.proof.selftest.made_up import HOSTILE, MESSAGE, hostile_run, random_run
from grader.proof.selftest.read_back import Cells, written
from grader.reports import class_report, html_report, moved
from grader.reports.class_summary import stands_at
from grader.reports.formats import FORMATS
from grader.results import CheckResult, ExerciseResult, Run, SubmissionResult

STATES = ("solved", "to polish", "wrong", "not started", "not run")
SOFTMAX, WEIGHTS, MIXING = "ex04_softmax.softmax", "ex04_softmax.attention_weights", "ex05_mixing.x"


def exercise(name, state, because=(), slip=None, points=10):
    """Make a result in a state: a core check, and a further one."""
    core, further = {
        "solved": ("passed", "passed"),
        "to polish": ("passed", "failed"),
        "wrong": ("failed", "passed"),
        "not started": ("not started", "not started"),
    }[state]
    message = MESSAGE.format(name=name, got=2)
    checks = tuple(
        CheckResult(check, "cpu", verdict, check == "values", message, slip, because)
        if verdict == "failed" else CheckResult(check, "cpu", verdict, check == "values")
        for check, verdict in (("values", core), ("polish", further))
    )  # fmt: skip
    return ExerciseResult(name, Fraction(points), 2, checks)


def run_of(**submissions):
    """Make a run on the CPU, of exercises or of a problem."""
    made = tuple(
        SubmissionResult(name, problem=what)
        if isinstance(what, str)
        else SubmissionResult(name, exercises=tuple(what), devices=("cpu",))
        for name, what in submissions.items()
    )
    return Run("0.1.0", "2.13.0", 3, {"cpu": "run", "cuda": "absent"}, made)


def a_class():
    """Three who stand at different places, one who is done, one who cannot be graded."""
    waiting = exercise(WEIGHTS, "wrong", because=(SOFTMAX,))
    return run_of(
        anna=[exercise(SOFTMAX, "wrong", slip="over_queries"), waiting,
              exercise(MIXING, "not started")],
        bert=[exercise(SOFTMAX, "to polish"), exercise(WEIGHTS, "solved"),
              exercise(MIXING, "not started")],
        cleo=[exercise(SOFTMAX, "to polish"), exercise(WEIGHTS, "solved"),
              exercise(MIXING, "solved")],
        dora=[exercise(name, "solved") for name in (SOFTMAX, WEIGHTS, MIXING)],
        emil="the archive is broken",
    )  # fmt: skip


def summed(run, folder):
    """The class report, read back."""
    return json.loads(written("class", run, folder).read_bytes())


@pytest.mark.parametrize("seed", range(12))
def test_the_figures_are_those_of_json(seed, tmp_path):
    run = random_run(seed, submissions=25)
    found = summed(run, tmp_path)
    each = json.loads(written("json", run, tmp_path).read_bytes())["submissions"]
    graded = [one for one in each if one["status"] == "graded"]
    device = next(s.counted for s in run.submissions if not s.problem)
    outcomes, slips = {}, {}
    for one in graded:
        for e in one["exercises"]:
            outcome = e["devices"][device]["outcome"]
            outcomes.setdefault(e["exercise"], Counter())[outcome] += 1
            for check in e["checks"]:
                if check["device"] == device and check["slip"]:
                    slips.setdefault((e["exercise"], check["slip"]), {})[one["id"]] = None
    assert [f["exercise"] for f in found["functions"]] == list(outcomes)
    for function in found["functions"]:
        states, told = Counter(function["states"]), outcomes[function["exercise"]]
        for state in ("solved", "not started", "not run"):
            assert states[state] == told[state]
        # schema 1 has no word for what is to polish
        assert states["wrong"] + states["to polish"] == told["wrong"] + told["to polish"]
    assert {(s["exercise"], s["slip"]): s["who"] for s in found["slips"]} == {
        key: list(who) for key, who in slips.items()
    }
    assert [len(s["who"]) for s in found["slips"]] == sorted(
        (len(who) for who in slips.values()), reverse=True
    )
    assert [(s["id"], s["problem"], s["score"], s["max"]) for s in found["submissions"]] == [
        (s["id"], s["problem"], s["score"], s["max"]) for s in each
    ]
    scores = [one["score"][device] for one in graded]
    assert found["scores"]["graded"] == len(graded)
    assert found["scores"]["quartiles"] == pytest.approx(
        np.percentile(scores, [0, 25, 50, 75, 100]), abs=0.011
    )
    assert found["scores"]["quartiles"][2] == pytest.approx(statistics.median(scores), abs=0.011)
    assert found["scores"]["bins"] == np.histogram(scores, bins=10, range=(0, 100))[0].tolist()


def test_the_page_shows_the_same_figures(tmp_path):
    run = random_run(3, submissions=25)
    found = summed(run, tmp_path)
    page = Cells(written("html", run, tmp_path).read_text(encoding="utf-8"))
    rows = {row[0].strip(): row[1:] for row in page.rows if row}
    for function in found["functions"]:
        states = function["states"]
        told = [int(re.match(r"\d+", cell)[0]) for cell in rows[function["exercise"].split(".")[1]]]
        assert told == [states["solved"], states["to polish"], states["wrong"],
                        function["waiting"], states["not started"]]  # fmt: skip
    for one in found["submissions"]:
        cells = rows[one["id"]]
        if one["problem"]:
            assert "could not be graded" in cells[-1]
        else:
            (score,) = [s for s in one["score"].values() if s is not None][:1]
            assert float(cells[0]) == score
    assert page.boxes[0] == f"{found['scores']['graded']} of 25"
    assert float(page.boxes[1]) == found["scores"]["quartiles"][2]


def test_where_they_stand_and_what_waits(tmp_path):
    found = summed(a_class(), tmp_path)
    assert [(s["id"], s["at"], s["state"]) for s in found["submissions"]] == [
        ("anna", SOFTMAX, "wrong"),
        ("bert", MIXING, "not started"),  # polish can wait
        ("cleo", SOFTMAX, "to polish"),
        ("dora", None, None),
        ("emil", None, None),
    ]
    assert found["standing"] == [
        {"exercise": SOFTMAX, "state": "to polish", "who": ["cleo"]},
        {"exercise": SOFTMAX, "state": "wrong", "who": ["anna"]},
        {"exercise": MIXING, "state": "not started", "who": ["bert"]},
    ]
    assert found["waiting"] == [{"exercise": SOFTMAX, "functions": {WEIGHTS: 1}, "who": ["anna"]}]
    waiting = {f["exercise"]: f["waiting"] for f in found["functions"]}
    assert waiting == {SOFTMAX: 0, WEIGHTS: 1, MIXING: 0}
    (slip,) = found["slips"]
    assert slip["says"].startswith("Your columns sum to 1")
    assert slip["message"] == MESSAGE.format(name=SOFTMAX, got=2)
    assert found["scores"]["quartiles"] == [0.0, 11.25, 20.0, 26.25, 30.0]
    assert found["scores"]["bins"] == [1, 0, 0, 0, 0, 1, 0, 0, 1, 1]


def test_of_the_wrong_ones_those_are_counted_that_wait(tmp_path):
    states = {"anna": "wrong", "bert": "to polish", "cleo": "wrong"}
    run = run_of(**{
        name: [exercise(SOFTMAX, "wrong"), exercise(WEIGHTS, state, because=(SOFTMAX,))]
        for name, state in states.items()
    })  # fmt: skip
    found = summed(run, tmp_path)
    assert [(f["states"]["wrong"], f["waiting"]) for f in found["functions"]] == [(3, 0), (2, 2)]
    assert found["waiting"][0]["functions"] == {WEIGHTS: 3}
    assert [(s["exercise"], s["who"]) for s in found["standing"]] == [(SOFTMAX, list(states))]


def test_who_waits_for_what_was_not_graded_stands_there():
    (anna, *_) = a_class().submissions
    only = replace(anna, exercises=anna.exercises[1:2])
    assert stands_at(only) == (SOFTMAX, "not run")


def test_nobody_could_be_graded(tmp_path):
    run = run_of(anna="the archive is broken", bert="it holds no ex*.py")
    found = summed(run, tmp_path)
    assert found["scores"]["quartiles"] == found["functions"] == found["standing"] == []
    page = written("html", run, tmp_path).read_text(encoding="utf-8")
    assert "the archive is broken" in page
    assert "0 of 2" in page


def test_the_same_run_gives_the_same_bytes(tmp_path):
    for form in ("class", "html"):
        first = written(form, random_run(4, submissions=9), tmp_path).read_bytes()
        assert first == written(form, random_run(4, submissions=9), tmp_path).read_bytes()


def test_only_its_own_script_may_run_and_students_pages_have_none(tmp_path):
    page = written("html", a_class(), tmp_path).read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    allowed = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{allowed}'" in page
    assert not re.search(r"<link|<img|https?:|url\(|@import", page)
    for submission in a_class().submissions:
        own = (tmp_path / "report-pages" / f"{submission.identity}.html").read_text("utf-8")
        assert "<script" not in own
        assert "script-src" not in own
        others = {s.identity for s in a_class().submissions} - {submission.identity}
        assert not any(name in own for name in others)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_what_a_submission_says_stays_text_on_the_class_page(text, tmp_path):
    (hostile,) = hostile_run(text).submissions
    checks = tuple(replace(check, slip=text, because=(text,))
                   for check in hostile.exercises[0].checks)  # fmt: skip
    slipped = replace(hostile, exercises=(replace(hostile.exercises[0], checks=checks),))
    broken = SubmissionResult(f"{text} 2", problem=text or "broken", notes=(text,))
    run = replace(hostile_run(text), submissions=(slipped, broken))
    page = written("html", run, tmp_path).read_text(encoding="utf-8")
    tags = Tags(page)
    assert tags.found <= {
        "html", "head", "meta", "title", "style", "body", "main", "header", "nav", "h1", "h2",
        "p", "dl", "dt", "dd", "div", "span", "table", "thead", "tbody", "tr", "th", "td", "b",
        "i", "bdi", "section", "article", "code", "pre", "mark", "details", "summary", "footer",
        "a", "wbr", "ul", "ol", "li", "svg", "rect", "text", "line", "label", "input", "output",
        "script",
    }  # fmt: skip
    assert tags.scripts == 1
    assert all(re.fullmatch(r"#[a-z]+|report-pages/[\w.%-]+", link) for link in tags.links)
    assert not any(name.startswith("on") for name in tags.attributes)
    assert b"\x1b" not in page.encode()


class Tags(HTMLParser):
    """The tags of a page, its attributes and its links."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: set[str] = set()
        self.attributes: set[str] = set()
        self.links: list[str] = []
        self.scripts = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect one."""
        self.found.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.links += [str(value) for name, value in attrs if name == "href"]
        self.scripts += tag == "script"


def later():
    """The same class a week later: anna is better, cleo worse, dora has left, fred is new."""
    before = a_class().submissions
    solved = before[3].exercises
    return replace(
        a_class(),
        submissions=(
            replace(before[0], exercises=solved),
            before[1],
            replace(before[2], exercises=before[0].exercises),
            replace(before[3], identity="fred"),
            before[4],
        ),
    )


def test_whose_grade_moved(tmp_path):
    earlier = moved.read(written("json", a_class(), tmp_path))
    class_report.write(later(), tmp_path / "now.json", earlier)
    found = json.loads((tmp_path / "now.json").read_bytes())["moved"]
    assert found == {
        "since": "report.json",
        "max": 30.0,
        "up": [{"id": "anna", "before": 0.0, "now": 30.0}],
        "down": [{"id": "cleo", "before": 25.0, "now": 0.0}],
        "new": ["fred"],
        "gone": ["dora"],
        "same": 2,
    }
    html_report.write(later(), tmp_path / "now.html", earlier)
    page = (tmp_path / "now.html").read_text(encoding="utf-8")
    assert "1 up, 1 down, 1 new, 1 gone, 2 as before" in page
    assert "cannot be compared" not in page
    html_report.write(later(), tmp_path / "now.html", replace(earlier, max=7.0))
    assert "cannot be compared" in (tmp_path / "now.html").read_text(encoding="utf-8")
    assert summed(later(), tmp_path)["moved"] is None


def test_an_earlier_report_of_schema_2_is_read(tmp_path):
    path = tmp_path / "old.json"
    one = {"id": "anna", "score": {"cpu": 12.5}, "max": 30.0, "beyond": {}, "exercises": []}
    path.write_text(json.dumps({"schema": 2, "submissions": [one]}))
    assert moved.compare(later(), moved.read(path)).up == (moved.ScoreMove("anna", 12.5, 30.0),)
    # where they are graded on another device now, they have no score to compare
    mps = replace(
        later(), submissions=[replace(one, devices=("mps",)) for one in later().submissions]
    )
    assert moved.compare(mps, moved.read(path)).same == 1


@pytest.mark.parametrize(
    ("old", "says"),
    [
        (None, "there is no such file"),
        ("{", "no json report"),
        ("[]", "no json report"),
        ('{"schema": 1, "submissions": [{"id": "a"}]}', "no json report"),
        ('{"schema": 9, "submissions": []}', "schema 1 or 2, not 9"),
    ],
)
def test_what_is_no_earlier_report_is_refused_before_grading(
    old, says, submission, tmp_path, capsys
):
    if old is not None:
        (tmp_path / "old.json").write_text(old)
    asked = ["grade", str(submission("anna")), "--since", str(tmp_path / "old.json")]
    assert main([*asked, "--report", f"class={tmp_path / 'class.json'}"]) == 2
    assert says in capsys.readouterr().err
    assert not (tmp_path / "class.json").exists()


def test_an_earlier_report_that_is_not_packed_as_its_name_says(submission, tmp_path, capsys):
    old = tmp_path / "old.json.gz"
    old.write_text('{"schema": 2, "submissions": []}')
    asked = ["grade", str(submission("anna")), "--since", str(old)]
    assert main([*asked, "--report", f"class={tmp_path / 'class.json'}"]) == 2
    assert "no json report" in capsys.readouterr().err


def test_since_needs_a_report_that_tells_it(submission, tmp_path, capsys):
    old = written("json", a_class(), tmp_path)
    asked = ["grade", str(submission("anna")), "--since", str(old)]
    for reports in ([], ["--report", f"html={tmp_path / 'a.html'}"]):
        assert main([*asked, *reports]) == 2
        assert "add --report class=FILE" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["report.json", "report.json.gz"])
def test_since_through_the_command_line(name, submission, tmp_path):
    folder, old = submission("anna"), tmp_path / name
    FORMATS["json"](run_of(anna=[exercise(SOFTMAX, "wrong", points=1)]), old)
    file = tmp_path / "class.json"
    asked = ["grade", str(folder), "--only", "dot_product", "--since", str(old)]
    assert main([*asked, "--report", f"class={file}"]) == 0
    report = json.loads(file.read_bytes())
    (move,) = report["moved"]["up"]
    assert (move["id"], move["before"]) == ("anna", 0.0)
    assert move["now"] == report["scores"]["quartiles"][2] > 0
