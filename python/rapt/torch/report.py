"""The calls that Rapt took over, and the calls that it left to torch, with reasons."""

from collections import Counter
from dataclasses import dataclass, field

_MOST_REASONS = 100  # a message may contain sizes: a long run must not collect one for each


@dataclass
class Counts:
    """Calls of torch's attention operators since takeover was switched on."""

    taken: Counter[str] = field(default_factory=Counter)
    """by Rapt: "forward", "backward", and "traced" into compiled graphs in place of math """
    refused: Counter[str] = field(default_factory=Counter)
    """left to torch: the operator and the reason, and how often"""
    bound: int = 0
    """forward calls of Rapt's whose backward must be Rapt's"""
    off: bool = False
    always: bool = False
    """take calls that torch was measured to compute faster, too"""

    def take(self, direction: str):
        self.taken[direction] += 1

    def bind(self):
        self.bound += 1

    def attempt(self, operator: str, direction: str) -> "Attempt":
        return Attempt(self, operator, direction)

    def refuse(self, reason: str):
        if self.off:
            return
        if reason not in self.refused and len(self.refused) >= _MOST_REASONS:
            reason = "other reasons"
        self.refused[reason] += 1

    def clear(self):
        self.taken.clear()
        self.refused.clear()


class Attempt:
    """A block that computes one call; true if Rapt took it. Errors by which Rapt refuses a call end here."""

    __slots__ = ("_counts", "_direction", "_operator", "_taken")

    def __init__(self, counts, operator, direction):
        self._counts, self._operator, self._direction = counts, operator, direction
        self._taken = False

    def __enter__(self):
        return self

    def __exit__(self, kind, error, _):
        if kind is None:
            self._taken = True
            self._counts.take(self._direction)
        elif issubclass(kind, (ValueError, NotImplementedError)):
            self._counts.refuse(f"{self._operator}: {error}")
            return True
        return False

    def __bool__(self):
        return self._taken


@dataclass(frozen=True)
class Report:
    enabled: bool
    operators: list[str]
    """the operators that Rapt replaces"""
    taken: dict[str, int]
    refused: dict[str, int]

    def __str__(self):
        lines = [f"Rapt {'replaces' if self.enabled else 'is not enabled; it would replace'}"]
        lines += [f"  {name}" for name in self.operators]
        lines += ["calls that Rapt took since it was enabled"]
        lines += [f"  {name:<9} {self.taken.get(name, 0)}" for name in ("forward", "backward")]
        if "traced" in self.taken:
            lines.append(f"  {'traced':<9} {self.taken['traced']} into graphs that torch compiled, in place of math")
        lines += ["calls left to torch" + ("" if self.refused else ": none")]
        lines += [f"  {count:>9} {reason}" for reason, count in self.refused.items()]
        return "\n".join(lines)
