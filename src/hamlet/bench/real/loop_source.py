"""The loop of one query as Python source for Numba, written out for the steps of its pattern.

It walks once through the events of each partition. Every open window has its numbers side by side
in one small array, step after step; windows open and close when an event is due for it, so that
most events divide nothing. An event that is alone at its time goes through the steps from the last
to the first, in place; events of one time are applied to a copy, so that they never see each other.
Where trends must rise or fall, the events of the loop are kept column by column and looked through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hamlet.bench.real.loop_form import Form, Step


class _Writer:
    """Lines of source, indented."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, depth: int, *lines: str) -> None:
        self.lines += ["    " * depth + line for line in lines]


def source_of(form: Form) -> str:
    """The loop over all partitions, as text."""
    return _Source(form).text()


class _Source:
    """Writes the loop of a form; a row of a window has the numbers of each step, then bars."""

    def __init__(self, form: Form) -> None:
        self.form, self.out = form, _Writer()
        self.width, self.steps = form.width, len(form.steps)
        self.totals, self.extremes = len(form.totals), len(form.extremes)
        self.barred = [i for i, step in enumerate(form.steps) if step.bar is not None]
        self.bases = self.steps + len(self.barred)
        self.row = self.width * self.bases

    def text(self) -> str:
        """The whole function."""
        out = self.out
        values = "".join(f"v{i}, " for i in range(self.totals + self.extremes))
        out(
            0,
            f"def run(begins, ts, moment, mask, f, g, {values}within, slide, overlap, kept_room):",
        )
        out(1, f"cur, old = np.zeros(overlap * {self.row}), np.zeros({self.row})")
        out(1, "closed, begin = np.zeros(overlap, np.bool_), np.zeros(overlap, np.int64)")
        out(1, f"kept, key = np.empty(overlap * {self.width} * kept_room), np.empty(kept_room)")
        out(1, "room, n = len(begins) + 1024, 0")
        out(1, "part, window = np.empty(room, np.int64), np.empty(room, np.int64)")
        out(1, f"found = np.empty((room, {self.width}))")
        out(1, "for p in range(len(begins) - 1):")
        out(2, "i, end, stored = begins[p], begins[p + 1], 0")
        out(2, "low, high, due, place = 0, -(1 << 62), -(1 << 62), 0")
        out(2, "while i < end:", "    t = ts[i]", "    if t >= due:")
        self._roll(4)
        out(3, "k = i + 1")
        out(3, "while k < end and moment[k] == moment[i]:", "    k += 1")
        out(3, f"if k == i + 1 and mask[i] < {1 << self.steps}:")
        self._alone(4)
        out(3, "else:")
        self._together(4)
        out(3, "i = k")
        out(2, "for j in range(low, high + 1):")
        self._emit(3)
        out(1, "return part[:n], window[:n], found[:n]")
        return "\n".join(out.lines)

    def _roll(self, depth: int) -> None:
        """Close and open windows."""
        out = self.out
        out(depth, "first, last = (t - within) // slide + 1, t // slide")
        out(depth, "for j in range(low, min(first, high + 1)):")
        self._emit(depth + 1)
        out(depth, "for j in range(max(high + 1, first), last + 1):")
        out(depth + 1, "s = j % overlap", f"r = s * {self.row}")
        out(depth + 1, f"cur[r : r + {self.row}] = 0.0")
        for base in range(self.bases if self.extremes else 0):
            at = self.width * base + 1 + self.totals
            out(depth + 1, f"cur[r + {at} : r + {at + self.extremes}] = np.inf")
        out(depth + 1, "closed[s], begin[s] = False, stored")
        out(depth, "low, high, place = first, last, first % overlap")
        out(depth, "due = min((last + 1) * slide, first * slide + within)")

    def _emit(self, depth: int) -> None:
        """Write out what a window has come to."""
        out, last = self.out, self.form.steps[-1]
        base = self.width * ((self.bases if last.bar is not None else self.steps) - 1)
        out(depth, f"r = j % overlap * {self.row} + {base}", "if cur[r] > 0.0:")
        out(depth + 1, "if n == len(part):")
        out(depth + 2, "part, window = np.append(part, part), np.append(window, window)")
        out(depth + 2, "found = np.concatenate((found, found))")
        out(depth + 1, "part[n], window[n] = p, j")
        out(depth + 1, *(f"found[n, {i}] = cur[r + {i}]" for i in range(self.width)), "n += 1")

    def _alone(self, depth: int) -> None:
        """An event that is alone at its time, and bars nothing."""
        out, edge = self.out, self._edge()
        out(depth, "m, e, s = mask[i], i, place")
        out(depth, "for j in range(low, high + 1):", f"    r = s * {self.row}")
        for at in reversed(range(self.steps)):
            self._step(depth + 1, at, "cur", "r + ", "stored")
        out(depth + 1, "s += 1", "if s == overlap:", "    s = 0")
        if edge is not None:
            out(depth, f"if m & {1 << edge}:", "    key[stored] = f[i]", "    stored += 1")

    def _together(self, depth: int) -> None:
        """Events of one time, or one that bars something."""
        out, edge = self.out, self._edge()
        out(depth, "seen, s = 0, place")
        out(depth, "for e in range(i, k):", "    seen |= mask[e]")
        out(depth, "for j in range(low, high + 1):", f"    r = s * {self.row}")
        out(depth + 1, f"old[:] = cur[r : r + {self.row}]", "at_place = stored")
        for number in range(len(self.barred)):
            base = self.width * (self.steps + number)
            out(depth + 1, f"if seen & {1 << (self.steps + number)}:")
            out(depth + 2, f"cur[r + {base} : r + {base + self.width}] = 0.0")
            at = base + 1 + self.totals
            out(depth + 2, f"cur[r + {at} : r + {at + self.extremes}] = np.inf")
        out(depth + 1, "for e in range(i, k):", "    m = mask[e]")
        for at in reversed(range(self.steps)):
            self._step(depth + 2, at, "old", "", "at_place")
        if edge is not None:
            out(depth + 2, f"at_place += (m >> {edge}) & 1")
        if self.form.first_bar is not None:
            out(depth + 1, f"if seen & {1 << self.bases}:", "    closed[s] = True")
        out(depth + 1, "s += 1", "if s == overlap:", "    s = 0")
        if edge is not None:
            out(depth, "for e in range(i, k):", f"    if mask[e] & {1 << edge}:")
            out(depth + 2, "key[stored] = f[e]", "stored += 1")

    def _edge(self) -> int | None:
        """The step with a condition on neighbours."""
        return next((i for i, s in enumerate(self.form.steps) if s.edge is not None), None)

    def _step(self, depth: int, at: int, seen: str, row: str, place: str) -> None:
        """What an event adds at one step, of what was there before it."""
        out, step = self.out, self.form.steps[at]
        own, totals, extremes = self.width * at, range(self.totals), range(self.extremes)
        out(depth, f"if m & {1 << at}:")
        depth += 1
        if at == 0:
            is_barred = self.form.first_bar is not None
            out(depth, "c = 0.0 if closed[s] else 1.0" if is_barred else "c = 1.0")
            out(depth, *(f"a{i} = 0.0" for i in totals), *(f"x{i} = np.inf" for i in extremes))
        else:
            is_barred = at - 1 in self.barred
            base = self.steps + self.barred.index(at - 1) if is_barred else at - 1
            source = self.width * base
            names = ["c", *(f"a{i}" for i in totals), *(f"x{i}" for i in extremes)]
            out(depth, *(f"{name} = {seen}[{row}{source + i}]" for i, name in enumerate(names)))
        if step.repeats and step.edge is None:
            out(depth, f"c += {seen}[{row}{own}]")
            out(depth, *(f"a{i} += {seen}[{row}{own + 1 + i}]" for i in totals))
            first = own + 1 + self.totals
            out(depth, *(f"x{i} = min(x{i}, {seen}[{row}{first + i}])" for i in extremes))
        elif step.edge is not None:
            self._look_back(depth, step)
        for i, total in enumerate(self.form.totals):
            if at in total.steps:
                out(depth, f"a{i} += c" if total.attribute is None else f"a{i} += c * v{i}[e]")
        for i, extreme in enumerate(self.form.extremes):
            if at in extreme.steps:
                out(depth, "if c > 0.0:", f"    x{i} = min(x{i}, v{self.totals + i}[e])")
        targets = [own]
        targets += [self.width * (self.steps + self.barred.index(at))] if at in self.barred else []
        for base in targets:
            out(depth, f"cur[r + {base}] += c")
            out(depth, *(f"cur[r + {base + 1 + i}] += a{i}" for i in totals))
            first = base + 1 + self.totals
            out(
                depth,
                *(f"cur[r + {first + i}] = min(cur[r + {first + i}], x{i})" for i in extremes),
            )
        if step.edge is not None:
            names = ["c", *(f"a{i}" for i in totals), *(f"x{i}" for i in extremes)]
            out(depth, f"o = s * {self.width} * kept_room + {place}")
            out(depth, *(f"kept[o + {i} * kept_room] = {name}" for i, name in enumerate(names)))

    def _look_back(self, depth: int, step: Step) -> None:
        """Add what the kept events have that an event may follow."""
        out = self.out
        assert step.edge is not None
        operator = {"=": "==", "<>": "!="}.get(step.edge.operator, step.edge.operator)
        out(depth, "bound = g[e]", f"o = s * {self.width} * kept_room")
        out(depth, "for b in range(begin[s], stored):", f"    if key[b] {operator} bound:")
        out(depth + 2, "c += kept[o + b]")
        for i in range(self.totals):
            out(depth + 2, f"a{i} += kept[o + {1 + i} * kept_room + b]")
        for i in range(self.extremes):
            at = 1 + self.totals + i
            out(depth + 2, f"x{i} = min(x{i}, kept[o + {at} * kept_room + b])")
