"""The benchmark of the loop fails where its promise is broken, whatever else the machine does."""

from __future__ import annotations

import pytest

from grader.proof import benchmark


@pytest.mark.parametrize(
    ("stubs", "broken"),
    [
        ([3.9, 9, 9], False),
        ([9, 9, 9, 9, 3.9], False),
        ([4.1] * (benchmark.ROUNDS + benchmark.MORE_ROUNDS), True),
    ],
)
def test_the_fastest_run_of_the_stubs_has_to_keep_the_promise(stubs, broken, monkeypatch, capsys):
    warming_up = 9.0
    stubs_left = iter([warming_up, *stubs])

    def seconds(arguments):
        of_stubs = any(str(benchmark.places.EXERCISES) in one for one in arguments)
        return next(stubs_left) if of_stubs else 2.0

    monkeypatch.setattr(benchmark, "seconds", seconds)
    monkeypatch.setattr(benchmark, "suites", lambda _: 1.0)
    if broken:
        with pytest.raises(SystemExit, match="a promise is broken"):
            benchmark.main()
    else:
        benchmark.main()
    assert "of the limit" in capsys.readouterr().out
    assert not list(stubs_left), "no more rounds than are needed"
