"""The debugger's prompt: the commands of pdb and gdb that make sense for one block of a launch."""

from __future__ import annotations

from collections.abc import Callable
from typing import IO

from cutile_sim.cli import prompt_text
from cutile_sim.cli.command_reader import CommandReader
from cutile_sim.debugger import Here, Session
from cutile_sim.debugger.evaluate import check
from cutile_sim.debugger.show import shown, summary
from cutile_sim.errors import CutileSimError, UsageError
from cutile_sim.numerals import MAX_SHOWN, whole_number


def parse_block(text: str) -> tuple[int, ...]:
    """A block as it stands on the command line: `5`, `1,2` or `1,2,0`. Raises UsageError for any other text."""
    try:
        return tuple(int(part) for part in text.strip().strip("()").split(","))
    except ValueError:
        raise UsageError(f"{text[:MAX_SHOWN]!r} is no block: write one to three whole numbers, such as 1,2") from None


class Prompt(CommandReader):
    """The commands."""

    def __init__(self, session: Session, commands: IO[str], *, is_interactive: bool) -> None:
        super().__init__(session, commands, is_interactive=is_interactive)
        self.displayed: dict[int, str] = {}
        self._listed = 0
        self._by_operation = False

    def begin(self) -> None:
        """Start the launch. Raises what it raises before the kernel runs."""
        try:
            self._show(self.session.start())
        except CutileSimError as error:
            if self.session.op is None:
                raise
            self.fail(error)

    # Showing

    def _show(self, here: Here | None) -> None:
        """Say where the launch has stopped."""
        self._listed = 0
        if here is None:
            for line in prompt_text.ending(self.session):
                self.say(line)
            return
        self.say(prompt_text.place(here))
        if here.line == 0 or self._by_operation:
            self.say(prompt_text.operation(self.session))
        self._show_displayed()

    def _show_displayed(self) -> None:
        for number, expression in self.displayed.items():
            try:
                self.say(f"{number}: {expression} = {summary(self.session.value(expression))}")
            except UsageError as error:
                self.say(f"{number}: {expression}: {error.reason}")

    def _run(self, times: str, one: Callable[[], Here | None], by_operation: bool = False) -> None:
        here: Here | None = None
        for _ in range(_number(times, 1)):
            here = one()
            if here is None or here.reason:
                break
        self._by_operation = by_operation
        self._show(here)

    # Running on

    def do_step(self, rest: str) -> None:
        """step [N]         s    run to the next line, into functions"""
        self._run(rest, self.session.step)

    def do_next(self, rest: str) -> None:
        """next [N]         n    run to the next line, over functions"""
        self._run(rest, self.session.next)

    def do_stepi(self, rest: str) -> None:
        """stepi [N]        si   run one operation of the Tile IR"""
        self._run(rest, self.session.step_op, by_operation=True)

    def do_finish(self, rest: str) -> None:
        """finish                run out of this function"""
        self._run("", self.session.finish)

    def do_until(self, rest: str) -> None:
        """until LINE       unt  run until a line further down, or out of this function"""
        line = _number(rest, 0)
        if not line:
            raise UsageError("until which line?")
        self._run("", lambda: self.session.until(line))

    def do_continue(self, rest: str) -> None:
        """continue         c    run to the next breakpoint; continue finding: to what the sanitizer finds"""
        if not rest:
            self._run("", self.session.cont)
        elif rest in ("finding", "to finding"):
            finding = self.session.run_to_finding()
            self._by_operation = False
            self._show(None if self.session.ended else self.session.here)
            if finding is not None:
                self.say(str(finding))
        else:
            raise UsageError("continue, or continue finding")

    # Breakpoints

    def do_break(self, rest: str) -> None:
        """break [LINE]     b    stop at LINE or FILE:LINE, with: if CONDITION; alone it lists all"""
        self._break(rest, is_temporary=False)

    def do_tbreak(self, rest: str) -> None:
        """tbreak LINE           stop there once"""
        self._break(rest, is_temporary=True)

    def _break(self, rest: str, is_temporary: bool) -> None:
        if not rest:
            items = self.session.breakpoints
            for item in items:
                self.say(f"{item.number}  {prompt_text.breakpoint_words(item)}")
            if not items:
                self.say("no breakpoints")
            return
        at, word, condition = f"{rest} ".partition(" if ")
        if word and not condition.strip():
            raise UsageError("if what? Write a condition, such as k == 3")
        item = self.session.break_at(at.strip(), condition.strip() or None, temporary=is_temporary)
        self.say(f"breakpoint {item.number} at {prompt_text.breakpoint_words(item)}")

    def do_delete(self, rest: str) -> None:
        """delete [N]            delete breakpoint N, or all"""
        self.session.delete(_number(rest, 0) if rest else None)

    # Looking

    def do_where(self, rest: str) -> None:
        """where            w bt the call chain, innermost last"""
        for line in prompt_text.chain(self.session):
            self.say(line)

    def do_up(self, rest: str) -> None:
        """up                    select the frame of the caller"""
        self.say(prompt_text.place(self.session.up()))
        self._listed = 0

    def do_down(self, rest: str) -> None:
        """down             d    select the frame of the function called"""
        self.say(prompt_text.place(self.session.down()))
        self._listed = 0

    def do_list(self, rest: str) -> None:
        """list [LINE]      l    the source around here, or around LINE"""
        here = self.session.here
        if here is None or not here.line:
            raise UsageError("there is no source line here")
        first = max(1, _number(rest, here.line) - 5) if rest or not self._listed else self._listed
        lines = prompt_text.listing(self.session, here, first)
        if not lines:
            raise UsageError(f"there are no lines from {first} on that could be read in {here.file}")
        self._listed = first + len(lines)
        for line in lines:
            self.say(line)

    def do_print(self, rest: str) -> None:
        """print EXPR       p    a variable, a slice of it, arithmetic, comparisons; %7 is a value of the Tile IR"""
        if not rest:
            raise UsageError("print what? Write a variable, such as acc, or acc[0:4, :2]")
        self.say(shown(self.session.value(rest)))

    def do_locals(self, rest: str) -> None:
        """locals                all variables of this function, in short"""
        for line in prompt_text.variables(self.session):
            self.say(line)

    def do_display(self, rest: str) -> None:
        """display EXPR          show this at every stop; alone: now"""
        if rest:
            check(rest)
            number = max(self.displayed, default=0) + 1
            self.displayed[number] = rest
            self.say(f"{number}: {rest} = {summary(self.session.value(rest))}")
        else:
            self._show_displayed()

    def do_undisplay(self, rest: str) -> None:
        """undisplay [N]         show N no more, or nothing"""
        if not rest:
            self.displayed.clear()
        elif self.displayed.pop(_number(rest, 0), None) is None:
            raise UsageError(f"nothing is displayed under {rest}")

    def do_info(self, rest: str) -> None:
        """info WHAT        i    args, blocks, breakpoints, findings, locals, op"""
        kinds: dict[str, Callable[[Session], list[str]]] = {
            "args": prompt_text.arguments,
            "blocks": prompt_text.blocks,
            "findings": prompt_text.findings,
            "locals": prompt_text.variables,
            "op": lambda session: prompt_text.operation(session).splitlines(),
        }
        if rest in ("breakpoints", "break", "b"):
            self.do_break("")
        elif rest in kinds:
            for line in kinds[rest](self.session):
                self.say(line)
        else:
            raise UsageError(f"info about what? There are {', '.join(sorted([*kinds, 'breakpoints']))}")

    def do_block(self, rest: str) -> None:
        """block X,Y,Z           look at another block: one in step with this one, or not started yet"""
        if not rest:
            raise UsageError(f"which block? This is {self.session.block}")
        self._show(self.session.focus(parse_block(rest)))

    def do_quit(self, rest: str) -> None:
        """quit             q    end the launch where it is"""

    def do_help(self, arg: str) -> None:
        """help             h    this list"""
        names = [self.command(arg)] if arg else sorted(n[3:] for n in self.get_names() if n.startswith("do_"))
        for name in names:
            self.say(str(getattr(self, f"do_{name}").__doc__))


def _number(text: str, default: int) -> int:
    if not text:
        return default
    number = whole_number(text)
    if not number:
        raise UsageError(f"{text[:MAX_SHOWN]!r} is no number from 1 on")
    return number
