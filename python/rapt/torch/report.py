"""The calls that Rapt took over, and the calls that it left to torch, with reasons."""

from collections import Counter
from dataclasses import dataclass, field

_MOST_REASONS = 100  # a message may contain sizes: a long run must not collect one for each


@dataclass
class Counts:
    """Calls of torch's attention operators since takeover was switched on."""

    taken: Counter[str] = field(default_factory=Counter)
    """by Rapt: "forward" and "backward" """
    refused: Counter[str] = field(default_factory=Counter)
    """left to torch: the reason, and how often"""

    def refuse(self, reason: str):
        if reason not in self.refused and len(self.refused) >= _MOST_REASONS:
            reason = "other reasons"
        self.refused[reason] += 1

    def clear(self):
        self.taken.clear()
        self.refused.clear()


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
        lines += ["calls left to torch" + ("" if self.refused else ": none")]
        lines += [f"  {count:>9} {reason}" for reason, count in self.refused.items()]
        return "\n".join(lines)
