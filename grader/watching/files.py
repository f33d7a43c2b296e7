"""Telling when a chapter is saved: however the editor does it, and wherever the folder goes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path, PurePath

from watchdog.events import (
    DirCreatedEvent,
    DirMovedEvent,
    FileClosedEvent,
    FileCreatedEvent,
    FileDeletedEvent,
    FileModifiedEvent,
    FileMovedEvent,
    FileSystemEvent,
    FileSystemEventHandler,
)
from watchdog.observers import Observer
from watchdog.observers.api import BaseObserver
from watchdog.observers.polling import PollingObserver

# not what is opened or read: each event wakes us
OF_FILES: list[type[FileSystemEvent]] = [
    FileClosedEvent, FileCreatedEvent, FileDeletedEvent, FileModifiedEvent, FileMovedEvent,
]  # fmt: skip
OF_FOLDERS: list[type[FileSystemEvent]] = [DirCreatedEvent, DirMovedEvent]


class Files(FileSystemEventHandler):
    """Watches a folder of answers, and the folder above it, in which it may vanish and come back.

    Args:
        folder: the answers.
        saved: told the name of every file in it that was written, removed or renamed; and "" when
            the folder itself has come back, and is to be watched again.
        poll: look once a second, where the system sends no word, as with some shared folders.
    """

    def __init__(self, folder: Path, saved: Callable[[str], None], poll: bool = False) -> None:
        self.folder, self._saved = folder, saved
        self._observer: BaseObserver = PollingObserver() if poll else Observer()

    def start(self) -> None:
        """Begin to watch."""
        try:
            self._observer.start()
            self._schedule()
        except OSError:  # the system has no watch left to give, or none for such a folder
            self._observer = PollingObserver()
            self._observer.start()
            self._schedule()

    def stop(self) -> None:
        """Watch no longer."""
        if self._observer.is_alive():
            self._observer.stop()
            self._observer.join(1)

    def on_any_event(self, event: FileSystemEvent) -> None:
        """Sort out what is of interest."""
        for given in (event.src_path, event.dest_path):
            path = PurePath(os.fsdecode(given))
            if path.name == self.folder.name and event.is_directory:
                self._saved("")
            elif path.parent.name == self.folder.name and not event.is_directory:
                self._saved(path.name)

    def again(self) -> None:
        """Watch the folder that has taken the place of the old one."""
        self._observer.unschedule_all()
        self._schedule()

    def _schedule(self) -> None:
        above = str(self.folder.parent)
        self._observer.schedule(self, above, recursive=False, event_filter=OF_FOLDERS)
        if self.folder.is_dir():
            here = str(self.folder)
            self._observer.schedule(self, here, recursive=False, event_filter=OF_FILES)
