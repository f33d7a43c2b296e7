"""What the keys do."""

from __future__ import annotations

from grader.hints import Ladder, advise
from grader.trial import PlannedTask
from grader.trial.plan import DEVICE
from grader.watching import editor
from grader.watching.keys import GONE, Keys
from grader.watching.rounds import Rounds
from grader.watching.signals import uninterrupted
from grader.watching.view import Show, View

QUIT = ("q", "\x03", GONE)


class Acts:
    """Does what a key asks for.

    Args:
        view: what can be seen.
        show: what shows it.
        rounds: what tries answers.
        keys: left to an editor that needs the terminal.
    """

    def __init__(self, view: View, show: Show, rounds: Rounds, keys: Keys) -> None:
        self._view, self._show, self._rounds, self._keys = view, show, rounds, keys

    def press(self, key: str) -> bool:
        """Do it; False to quit."""
        if key == "a":
            self._rounds.everything()
        elif key == "h":
            self._hint()
        elif key == "g":
            self._go_on()
        elif key == "l":
            self._view.listing = not self._view.listing
            self._show.show(self._view, "list")
        elif key == "m":
            self._view.whole, self._view.listing = not self._view.whole, False
            self._show.show(self._view, "message")
        elif key == "o":
            self._open()
        return key not in QUIT

    def _hint(self) -> None:
        task, step = self._view.verdict.task, self._view.step
        if task is None or not self._is_wrong(task):
            task = self._view.plan.task(step.full) if step is not None and step.name else None
        if task is None:
            self._note("nothing needs a hint now")
            return
        result = self._view.known.results.get(task.full)
        ladder, said = Ladder(self._view.answers.parent), self._view.verdict.message
        self._view.hint = advise(task, result, DEVICE, ladder, said).lines
        self._view.listing, self._view.note = False, ""
        self._show.show(self._view, "hint")

    def _go_on(self) -> None:
        self._view.goes_on = not self._view.goes_on
        step = self._view.step
        if not self._view.goes_on:
            self._note("polish comes first again, in each chapter")
        elif step is None or step.polish:
            self._note("nothing is left but polish")
        else:
            self._note(f"polish can wait (g: first again); go on with {step.name or step.where}")

    def _is_wrong(self, task: PlannedTask) -> bool:
        result = self._view.known.results.get(task.full)
        return result is not None and result.state(DEVICE) in ("to polish", "wrong")

    def _open(self) -> None:
        step = self._view.step
        if step is None:
            self._note("every function is solved: nothing to open")
            return
        words = editor.command(step.path, step.at.line)
        if step.at.cell and not (words and editor.shows_notebooks(words)):
            name = f"{step.name}: " if step.name else ""
            self._note(f"{name}go to {step.where}, in Jupyter")
        elif words is None:
            self._note(f"no editor found: set EDITOR, or open {step.where} yourself")
        elif editor.is_windowed(words):
            self._note(editor.open_at(words) or f"{step.where} is being opened")
        else:
            self._keys.stop()
            self._show.leave()
            with uninterrupted():
                problem = editor.open_at(words)
            self._keys.start()
            self._note(problem)

    def _note(self, text: str) -> None:
        self._view.note = text
        self._show.show(self._view, "note")
