"""Reads the debugger's commands: short forms, repetition, mistakes, and scripts."""

from __future__ import annotations

import cmd
import sys
from collections.abc import Callable
from typing import IO, Any

from cutile_sim.cli.output import nearest
from cutile_sim.debugger import Session
from cutile_sim.errors import CutileSimError, KernelError, UsageError

_ALIASES = {
    "?": "help",
    "b": "break",
    "bt": "where",
    "c": "continue",
    "cont": "continue",
    "d": "down",
    "h": "help",
    "i": "info",
    "l": "list",
    "n": "next",
    "ni": "stepi",
    "p": "print",
    "q": "quit",
    "s": "step",
    "si": "stepi",
    "unt": "until",
    "w": "where",
    "EOF": "quit",
}
_REPEATED = ("step", "next", "stepi", "continue", "up", "down", "list")
"""Commands that an empty line repeats."""


class CommandReader(cmd.Cmd):
    """Reads commands and calls the method `do_NAME` of each with what follows its name.

    Attributes:
        is_interactive: Whether a person types them; else each is shown as it is read.
        kernel_has_failed: Whether the launch was stopped by a mistake of the kernel.
        command_has_failed: Whether a command was wrong.
    """

    prompt = "(cutile-sim) "

    def __init__(self, session: Session, commands: IO[str], *, is_interactive: bool) -> None:
        super().__init__(stdin=commands, stdout=sys.stdout)
        self.session = session
        self.is_interactive = is_interactive
        self.use_rawinput = is_interactive
        self.kernel_has_failed = False
        self.command_has_failed = False
        self._last: Callable[[], Any] | None = None

    def say(self, text: str) -> None:
        self.stdout.write(f"{text}\n")
        self.stdout.flush()

    def precmd(self, line: str) -> str:
        if not self.is_interactive:
            self.say("" if line == "EOF" else line.rstrip("\n"))
        return line.partition("#")[0] if line.lstrip().startswith("#") else line

    def cmdloop(self, intro: Any = None) -> None:
        while True:
            try:
                super().cmdloop(intro)
                return
            except KeyboardInterrupt:
                self.say("")

    def onecmd(self, line: str) -> bool:
        word, _, rest = line.strip().partition(" ")
        if not word:
            if self.is_interactive and self._last is not None:
                self._attempt(self._last)
            return False
        rest = rest.strip()
        try:
            name = self.command(word)
            if name == "quit":
                return True
            method: Callable[[str], Any] = getattr(self, f"do_{name}")
        except UsageError as error:
            self.fail(error)
            return False
        self._last = (lambda: method(rest)) if name in _REPEATED else None
        self._attempt(lambda: method(rest))
        return False

    def _attempt(self, action: Callable[[], Any]) -> None:
        try:
            action()
        except CutileSimError as error:
            self.fail(error)

    def fail(self, error: CutileSimError) -> None:
        if isinstance(error, KernelError):
            self.kernel_has_failed = True
            self.say(f"error: {error}")
            if self.session.here is not None:
                self.say("The launch has ended; what block " + str(self.session.block) + " held can still be printed.")
            return
        self.command_has_failed = True
        self.say(f"error: {error.reason}")

    def command(self, word: str) -> str:
        """The command that a word stands for: its name, a short form, or a beginning that no other shares."""
        word = _ALIASES.get(word, word)
        names = [name[3:] for name in self.get_names() if name.startswith("do_")]
        if word in names:
            return word
        found = [name for name in names if name.startswith(word)]
        if len(found) == 1:
            return found[0]
        if found:
            raise UsageError(f"{word} is short for {', '.join(sorted(found))}")
        raise UsageError(f"there is no command {word!r}{nearest(word, names)}; help lists them")
