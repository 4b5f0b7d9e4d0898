"""Which columns of E+ have a table together, found from how a partition begins: compiled.

Columns are taken in one after the other, that with the most events first: those that ask the same
in the same windows at once, the others where what they cost together is least by cost.py. Then
classes join where that costs less; and last a column leaves that begins too many bursts alone.

A class is a run of its own over the events of a partition, so it is charged for (CLASS): small
partitions have one table.

Nothing but a partition's own events is looked at. So what is found of it does not depend on which
others there are, or which of them come first.

Cost: O(events looked at + columns x classes x letters) for each partition.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from hamlet.kernel.cache_key import digest
from hamlet.kernel.jit import apart, inlined, kept_on_disk
from hamlet.kernel.rows.cost import CLASS, LOOKS, ClassSeen, class_ns, leavers, most_ns
from hamlet.kernel.rows.disputes import keys_of, part_in, words_of
from hamlet.kernel.rows.layout import ALWAYS, BY_BENEFIT, OWN

# Events of a partition that are looked at, and of the loop that there have to be among them
SAMPLE, LEAST = 8192, 256
# More classes than these are not tried one with another.
_MOST_TRIED = 8
# A letter has to have so much more or less of the events of the loop, or of those that come into
# it, for classes to be found anew; of fewer than so many nothing can be said.
_CHANGED, _ENTERS_CHANGED = 0.02, 0.1
_FEW, _ENTRIES = 1024, 128
_NEVER = 1e300
# Instead of the number of a class: nothing was found of a partition
NOTHING = -1
# Instead of a column
_NONE, _SEVERAL = -1, -2

class_cost, most_cost, who_leaves = apart(class_ns), apart(most_ns), apart(leavers)


class Seen(NamedTuple):
    """Events in the order that a group takes them in, and the sides of each edge predicate."""

    ts: Any
    letter: Any
    f: Any
    g: Any


class Asked(NamedTuple):
    """What columns ask of events, and what policy they are run under."""

    is_loop: Any  # by letter
    admits: Any  # by letter and column of E+: whether its events are of that loop, come into it
    feeds: Any
    enters: Any  # by letter: whether its events come into any
    window: Any  # by column
    predicate: Any
    within: Any  # by window
    slide: Any
    operators: Any  # by predicate, see layout.py
    numbers: Any  # of a column in a window
    policy: Any
    is_sharable: Any  # whether rows may be over snapshots
    mixed_live: Any  # columns with different predicates may have one table in so long windows


class Partition(NamedTuple):
    """What the first events of a partition are like."""

    first: Any
    events: Any  # that are looked at, and how many each stands for
    times: Any
    lasts: Any  # how long all events of the partition last
    counts: Any  # by letter
    loops: Any  # events of the loop
    bursts: Any


class Classes(NamedTuple):
    """Columns that may have one table, a row for each; one row more for all together."""

    by_any: Any  # by letter: whether any column admits its events, whether all do
    by_all: Any
    enters: Any  # by letter: whether its events come into any column
    predicates: Any  # by predicate: whether any column has it
    words: Any  # by event of a few: what the predicates let precede it, and whether they differ
    disputed: Any
    columns: Any  # how many
    within: Any
    slide: Any
    ns: Any
    owner: Any  # by row: the class that it has become part of
    looked: Any  # events that were looked at before each of the few
    charge: Any  # what a class costs by itself, while columns are taken in


@apart
def _partition(seen, asked, first, end):
    """Count the first events of a partition."""
    counts = np.zeros(len(asked.is_loop), np.int64)
    events = min(end - first, SAMPLE)
    loops, bursts, is_new = 0, 0, False
    for i in range(first, first + events):
        letter = seen.letter[i]
        counts[letter] += 1
        if asked.is_loop[letter]:
            loops += 1
            bursts += is_new
            is_new = False
        if asked.enters[letter]:
            is_new = True
    lasts = seen.ts[end - 1] - seen.ts[first] + 1
    times = float(end - first) / events
    return Partition(first, events, times, lasts, counts, loops, bursts)


@inlined
def _live(p, within, loops):
    """How many of so many events of the loop a window has, as an event sees it."""
    return loops * p.times * min(1.0, within / float(p.lasts))


# Classes of columns


@apart
def _alike(asked, counts, group):
    """Number the columns that ask the same of these events in the same windows; how many there are.

    Those with the most events have the least number.
    """
    columns, letters = len(group), len(counts)
    firsts, events, n = np.empty(columns, np.int64), np.empty(columns, np.int64), 0
    for c in range(columns):
        group[c], admitted = -1, 0
        for k in range(n):
            d = firsts[k]
            is_same = (
                asked.window[c] == asked.window[d] and asked.predicate[c] == asked.predicate[d]
            )
            for letter in range(letters):
                differs = asked.admits[letter, c] != asked.admits[letter, d]
                is_same = is_same and not (differs and counts[letter] > 0)
            if is_same:
                group[c] = k
                break
        if group[c] < 0:
            for letter in range(letters):
                admitted += counts[letter] * asked.admits[letter, c]
            group[c], firsts[n], events[n] = n, c, admitted
            n += 1
    place = np.empty(n, np.int64)
    for k in range(n):
        place[k] = 0
        for other in range(n):
            more = events[other] > events[k]
            place[k] += more or (events[other] == events[k] and other < k)
    for c in range(columns):
        group[c] = place[group[c]]
    return n


@apart
def _classes(asked, words, looked, group, n, charge):
    """A class for each of n groups of columns that are alike."""
    letters, few = len(asked.is_loop), words.shape[1]
    made = Classes(
        np.zeros((n + 1, letters), np.uint8),
        np.ones((n + 1, letters), np.uint8),
        np.zeros((n + 1, letters), np.uint8),
        np.zeros((n + 1, len(asked.operators)), np.uint8),
        np.zeros((n + 1, few), np.int64),
        np.zeros((n + 1, few), np.uint8),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1, np.int64),
        np.zeros(n + 1),
        np.arange(n + 1),
        looked,
        charge,
    )
    for c in range(len(group)):
        a, predicate = group[c], asked.predicate[c]
        for letter in range(letters):
            made.by_any[a, letter] = asked.admits[letter, c]
            made.by_all[a, letter] = asked.admits[letter, c]
            made.enters[a, letter] |= asked.feeds[letter, c]
        made.predicates[a, predicate] = 1
        for k in range(few):
            made.words[a, k] = words[predicate, k]
        made.columns[a] += 1
        made.within[a] = asked.within[asked.window[c]]
        made.slide[a] = asked.slide[asked.window[c]]
    return made


@apart
def _ns(asked, p, keys, made, a, b):
    """What two classes cost as one; or one of them, given twice."""
    predicates, key, differ = 0, -1, 0
    for k in range(len(asked.operators)):
        if made.predicates[a, k] | made.predicates[b, k]:
            predicates += 1
            differ |= key >= 0 and keys[k] != key
            key = keys[k]
    within = max(made.within[a], made.within[b])
    windows = -(-within // _common(made.slide[a], made.slide[b]))
    looks = (predicates - 1) * LOOKS if differ else min(predicates - 1, 1)
    seen = _seen_by(p, made, a, b, within, predicates, looks)
    if predicates > 1 and seen.live > asked.mixed_live:
        return _NEVER
    columns = made.columns[a] if a == b else made.columns[a] + made.columns[b]
    own = asked.policy != ALWAYS or asked.is_sharable == 0
    over = asked.policy != OWN and asked.is_sharable == 1
    return made.charge + p.times * class_cost(seen, columns, windows, asked.numbers, own, over)


@inlined
def _seen_by(p, made, a, b, within, predicates, looks):
    """What events are to two classes as one."""
    loops, same, entries = 0, 0, 0
    for letter in range(len(p.counts)):
        if made.by_any[a, letter] | made.by_any[b, letter]:
            loops += p.counts[letter]
            if made.by_all[a, letter] & made.by_all[b, letter]:
                same += p.counts[letter]
        if made.enters[a, letter] | made.enters[b, letter]:
            entries += p.counts[letter]
    live, parts = _live(p, within, loops), loops - same
    if predicates > 1:
        parts += int(same * part_in(made, a, b, live))
    return ClassSeen(p.events, loops, live, min(p.bursts, entries), parts, predicates, looks)


@inlined
def _common(one, other):
    """The greatest common divisor."""
    while other > 0:
        one, other = other, one % other
    return one


@apart
def _join(made, a, b):
    """Have a class be what it and another one are."""
    for letter in range(made.by_any.shape[1]):
        made.by_any[a, letter] |= made.by_any[b, letter]
        made.by_all[a, letter] &= made.by_all[b, letter]
        made.enters[a, letter] |= made.enters[b, letter]
    for k in range(made.predicates.shape[1]):
        made.predicates[a, k] |= made.predicates[b, k]
    for k in range(made.words.shape[1]):
        differ = made.words[a, k] != made.words[b, k]
        made.disputed[a, k] |= made.disputed[b, k] | np.uint8(differ)
    made.columns[a] += made.columns[b]
    made.within[a] = max(made.within[a], made.within[b])
    made.slide[a] = _common(made.slide[a], made.slide[b])


@inlined
def _give(made, a, b):
    """Have all that belongs to one class belong to another."""
    for k in range(len(made.owner)):
        if made.owner[k] == b:
            made.owner[k] = a


@apart
def _join_what_pays(asked, p, keys, made, n):
    """Have n classes be those that cost least, as far as that is found in one go."""
    left = 0
    for a in range(n):
        best, least = -1, _NEVER
        made.ns[a] = _ns(asked, p, keys, made, a, a)
        for b in range(a):
            if made.owner[b] == b:
                more = _ns(asked, p, keys, made, b, a) - made.ns[b]
                if more < least:
                    best, least = b, more
        if best >= 0 and least <= made.ns[a]:
            made.ns[best] += least
            _join(made, best, a)
            _give(made, best, a)
        else:
            left += 1
    while 1 < left <= _MOST_TRIED:
        one, other, best_ns = 0, 0, 0.0
        for a in range(n):
            for b in range(a + 1, n):
                if made.owner[a] == a and made.owner[b] == b:
                    saved = made.ns[a] + made.ns[b] - _ns(asked, p, keys, made, a, b)
                    if saved > best_ns:
                        one, other, best_ns = a, b, saved
        if best_ns == 0.0:
            break
        made.ns[one] += made.ns[other] - best_ns
        _join(made, one, other)
        _give(made, one, other)
        left -= 1
    if left > 1 and len(asked.operators) > 1:
        _join_all(asked, p, keys, made, n)


@apart
def _cheapest(seen, asked, p, group, n):
    """The classes that cost least; how often predicates disagree is seen where it matters."""
    predicates = len(asked.operators)
    keys = keys_of(seen, asked, p)
    best = _cheapest_by(asked, p, keys, np.zeros((predicates, 0), np.int64), 1.0, group, n)
    is_mixed = False
    for a in range(n):
        is_mixed = is_mixed or bool(best.predicates[best.owner[a]].sum() > 1)
    if is_mixed:
        words, looked = words_of(seen, asked, p, asked.within.max())
        best = _cheapest_by(asked, p, keys, words, looked, group, n)
    return best


@apart
def _cheapest_by(asked, p, keys, words, looked, group, n):
    """The same where something is known of that.

    Each column is taken in where it costs least then and there, so many would go into one class
    that cost less in several, if each of these were charged for at once: both ways are tried.
    """
    best = _classes(asked, words, looked, group, n, CLASS)
    _join_what_pays(asked, p, keys, best, n)
    if n > 2:
        other = _classes(asked, words, looked, group, n, 0.0)
        _join_what_pays(asked, p, keys, other, n)
        if _total(other) < _total(best):
            best = other
    return best


@inlined
def _total(made):
    """What all classes cost."""
    total = 0.0
    for a in range(len(made.owner)):
        is_class = False
        for owner in made.owner[:-1]:
            is_class |= owner == a
        if is_class:
            total += made.ns[a] + CLASS - made.charge
    return total


@apart
def _join_all(asked, p, keys, made, n):
    """Have all classes be one where that pays: what two cost more by than apart, many may save."""
    ns_apart, first = 0.0, -1
    for a in range(n):
        if made.owner[a] == a:
            if first < 0:
                first = a
                for k in range(made.words.shape[1]):
                    made.words[n, k] = made.words[a, k]
            ns_apart += made.ns[a]
            _join(made, n, a)
    made.ns[n] = _ns(asked, p, keys, made, n, n)
    if made.ns[n] < ns_apart:
        for a in range(n):
            made.owner[a] = n


# Columns that leave a class


@apart
def _leave(seen, asked, p, made, group, a, gone):
    """Find the columns that leave a class because they begin too many bursts; whether any does."""
    columns = len(group)
    members, fed = np.zeros(columns, np.bool_), np.empty(len(p.counts), np.int64)
    for c in range(columns):
        members[c] = made.owner[group[c]] == a
    most = _fed_alone(asked, p, members, fed)
    within = made.within[a]
    facts, windows = _seen_by(p, made, a, a, within, 1, 0), -(-within // made.slide[a])
    # A look at the letters says of most loops that no one enters them so often.
    if facts.loops < LEAST or most * facts.live <= windows * facts.loops:
        return False
    alone = np.zeros(columns, np.int64)
    bursts, came = 0, _NONE
    for i in range(p.first, p.first + p.events):
        letter = seen.letter[i]
        if came != _NONE and made.by_any[a, letter]:
            bursts += 1
            if came != _SEVERAL:
                alone[came] += 1
            came = _NONE
        if fed[letter] != _NONE:
            came = fed[letter] if came in (_NONE, fed[letter]) else _SEVERAL
    facts = ClassSeen(facts.events, facts.loops, facts.live, bursts, facts.parts, 1, 0)
    return who_leaves(alone, members, facts, windows, asked.numbers, p.times, gone)


@inlined
def _fed_alone(asked, p, members, fed):
    """By letter the column of a class that its events come into; how many come into one at most."""
    columns = len(members)
    counts, most = np.zeros(columns, np.int64), 0
    for letter in range(len(fed)):
        fed[letter] = _NONE
        for c in range(columns):
            if members[c] and asked.feeds[letter, c]:
                fed[letter] = c if fed[letter] == _NONE else _SEVERAL
        if fed[letter] >= 0:
            counts[fed[letter]] += p.counts[letter]
            most = max(most, counts[fed[letter]])
    return most


# Partitions


@apart
def _find_one(seen, asked, first, end, everyone, label, disputed):
    """Find the class of each column in one partition, and what part of the events it disputes.

    `everyone` is the class of all columns, where they ask the same of all events.
    """
    columns, label[0] = len(label), NOTHING
    if asked.policy == BY_BENEFIT:
        cells = columns * -(-asked.within.max() // asked.slide.min()) * asked.numbers
        if most_cost(end - first, cells, len(asked.operators)) < 2.0 * CLASS:
            return
    p = _partition(seen, asked, first, end)
    if p.loops < LEAST:
        return
    group, n, made = np.zeros(columns, np.int64), 1, everyone
    if everyone.columns[0] == 0:
        n = _alike(asked, p.counts, group)
        made = _cheapest(seen, asked, p, group, n)
    for c in range(columns):
        label[c], disputed[c] = 2 * made.owner[group[c]], 0
    for a in range(n + 1 if len(asked.operators) > 1 else 0):
        loops = _seen_by(p, made, a, a, made.within[a], 1, 0).loops
        part = int(1000.0 * part_in(made, a, a, _live(p, made.within[a], loops)) + 0.5)
        for c in range(columns):
            if label[c] == 2 * a:
                disputed[c] = part
    if asked.policy == BY_BENEFIT and asked.is_sharable == 1:
        gone = np.zeros(columns, np.bool_)
        for a in range(n + 1):
            # Over own columns those with different predicates have nothing of one table.
            is_one = np.count_nonzero(made.predicates[a]) == 1
            if is_one and made.columns[a] > 2 and _leave(seen, asked, p, made, group, a, gone):
                for c in range(columns):
                    label[c] += gone[c]


@apart
def _find(seen, asked, ranges, labels, disputed):
    """For each partition the class of each column, or NOTHING, and of a thousand events disputed.

    A range has the partition, its first event and the one after its last.
    """
    group = np.empty(labels.shape[1], np.int64)
    is_alike = _alike(asked, np.ones(len(asked.is_loop), np.int64), group) == 1
    same = group if is_alike else group[:0]
    everyone = _classes(asked, np.zeros((1, 0), np.int64), 1.0, same, 1, CLASS)
    for r in range(len(ranges)):
        _find_one(seen, asked, ranges[r, 1], ranges[r, 2], everyone, labels[r], disputed[r])


# As a partition goes on


@apart
def _changes(letter, is_loop, enters, first, end, step, every, at):
    """Where classes may be others than before, in steps; how many such places there are.

    That is where a letter has become another part of the events of the loop, or of those that come
    into it; or everywhere.
    """
    letters, n = len(is_loop), 0
    before, now = np.zeros(letters, np.int64), np.zeros(letters, np.int64)
    _count(letter, first, min(first + SAMPLE, end), before)
    begin = first + SAMPLE
    while begin < end - step // 2:
        _count(letter, begin, min(begin + step, end), now)
        if every or _differs(now, before, is_loop, enters):
            at[n], n = begin, n + 1
            before, now = now, before
        begin += step
    return n


@inlined
def _count(letter, first, end, counts):
    for k in range(len(counts)):
        counts[k] = 0
    for i in range(first, end):
        counts[letter[i]] += 1


@inlined
def _differs(now, before, is_loop, enters):
    """Whether a letter has become another part of them, as far as that can be said."""
    loops, most = _most_apart(now, before, is_loop)
    if loops < _FEW or most > _CHANGED:
        return loops >= _FEW
    entries, most = _most_apart(now, before, enters)
    return entries >= _ENTRIES and most > _ENTERS_CHANGED


@inlined
def _most_apart(one, other, some):
    """How many of some letters there are now, and how far their parts are apart at most.

    Where there were few before nothing is known of these.
    """
    total, total_before, most = 0, 0, 0.0
    for k in range(len(some)):
        total += one[k] * some[k]
        total_before += other[k] * some[k]
    for k in range(len(some)):
        if some[k]:
            part = one[k] / float(max(total, 1)) - other[k] / float(max(total_before, 1))
            most = max(most, abs(part))
    return total, 1.0 if total_before < _ENTRIES else most


_KEY = digest(__file__, *(Path(__file__).parent / name for name in ("cost.py", "disputes.py")))
find = kept_on_disk(_find, _KEY)
changes = kept_on_disk(_changes, _KEY)
