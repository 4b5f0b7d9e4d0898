"""The compiled machine: an interpreter of code over events, compiled once and cached on disk.

One call takes a batch with many partitions. For each partition it walks through the steps (events of one
time), and for each step: closes windows that have ended, computes what every event adds from the state
before the step, applies the guards that were completed, and only then adds. Simultaneous events thus
never see each other.

Cost: an event that only lazy ops know costs a few instructions, whatever the number of queries and
windows. Any other costs O(windows) for each query it touches, and for logs O(stored events) more. When a
window opens or closes, O(rows x windows) for each query active in the partition. State does not grow
with events, except for logs, whose events are dropped when no open window has them.

Numbers: see numbers.py. When an integer outgrows its words the partition is given up and reported in
`redo`; the caller runs it again with more words. Nothing ever wraps around.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from hamlet.kernel import numbers
from hamlet.kernel.layout import (
    O_TREE_P,
    O_TREE,
    O_LEAF_P,
    O_LEAF,
    G_TREE_P,
    G_TREE,
    T_UNIT,
    T_CLASS,
    T_OP,
    U_TREE_P,
    T_VBASE,
    T_XBASE,
    T_BITS,
    S_BLOCK,
    S_FLIP,
    S_T_BITS,
    C_ACTIVE,
    C_ATOMS,
    C_BURSTS,
    C_EVENTS,
    C_GLOG,
    C_GUARD_LOGS,
    C_LOG,
    C_LOGS,
    C_MOST,
    C_MOST_X,
    C_SNAPSHOTS,
    C_STACK,
    C_STEPS,
    C_KEPT,
    C_PENDING,
    C_ROOM,
    C_SCRATCH,
    C_SCRATCH_X,
    C_WANTED,
    C_WINDOWS,
    HAS_ALWAYS,
    L_LAZY,
    ALT_GUARD,
    ALT_GUARD_P,
    ALT_PRED,
    ALT_PRED_P,
    END_P,
    END_ROW,
    ESCAN_COND,
    ESCAN_LOG,
    ESCAN_P,
    FAILS,
    FAILS_P,
    FORBID_ALT,
    FORBID_P,
    GOP_GUARD,
    GOP_STATE,
    GS_END,
    GS_IN_COND,
    GS_IN_P,
    GS_IN_SCAN,
    GS_IN_SOURCE,
    GS_LOG,
    G_COPY_P,
    G_COPY_ROW,
    G_MAIN_P,
    G_MAIN_ROW,
    G_N,
    G_RESET_P,
    G_RESET_ROW,
    G_SBASE,
    G_UNIT,
    HOLDS,
    HOLDS_P,
    LOG_UNIT,
    LOG_VBASE,
    LOG_XBASE,
    L_DIRECT,
    L_GOPS,
    L_GOPS_P,
    L_OPS,
    L_OPS_P,
    L_Z,
    L_Z_P,
    NEED_ALT,
    NEED_ALT_P,
    NEED_P,
    N_SUMS,
    N_UNITS,
    N_Z,
    O_DST_P,
    O_DST_ROW,
    O_FIRST_COND,
    O_FIRST_P,
    O_LOG,
    O_SCAN_COND,
    O_SCAN_LOG,
    O_SCAN_P,
    O_SRC_COND,
    O_SRC_P,
    O_SRC_ROW,
    O_UNIT,
    O_W,
    O_W_P,
    O_X,
    O_X_P,
    O_ZW,
    O_ZX,
    P_CODE,
    P_CODE_P,
    P_KIND,
    R_START,
    S_ACTIVE,
    S_DUE,
    S_GLOG_LEN,
    S_G_DONE,
    S_G_DONE_T,
    S_G_L,
    S_G_LT,
    S_HI,
    S_LO,
    S_LOG_HEAD,
    S_LOG_LEN,
    S_SEEN,
    S_STACK_LEN,
    S_STAMP_EVENTS,
    S_STAMP_N,
    S_TOUCHED,
    S_WHERE,
    S_Z_EVENTS,
    S_Z_N,
    T_BASE,
    U_ALWAYS,
    U_GLOG_P,
    U_G_P,
    U_LAZY,
    U_LOG,
    U_LOG_P,
    U_LOP,
    U_NC,
    U_NROWS,
    U_NX,
    U_RBASE,
    U_SBASE,
    U_SLIDE,
    U_VBASE,
    U_W,
    U_WITHIN,
    U_XBASE,
    U_XSBASE,
    X_SIGN,
    ZS_P,
    ZS_WEIGHT,
    ZX_ATTRIBUTE,
    ZX_P,
)

from hamlet.kernel.numbers import raw_pointer

NO_STEP = -1
EMPTY = -1
FAR = 1 << 62


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _fill_slot(P, v, x, u, slot, is_open):  # type: ignore[no-untyped-def]
    """Empty the rows of a window; in an open one START has its one empty trend.

    Ops go over all windows of a row, whether open or not: what is not open is all zeros.
    """
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    for row in range(P[P[U_NROWS] + u]):
        base = P[P[U_VBASE] + u] + (row * w + slot) * nc
        for c in range(nc):
            numbers.set_zero(v, base + c)
        if is_open and P[P[R_START] + P[P[U_RBASE] + u] + row] == 1:
            numbers.set_one(v, base)
        xbase = P[P[U_XBASE] + u] + (row * w + slot) * nx
        for k in range(nx):
            x[xbase + k] = np.inf


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _activate(P, S, v, x, zf, zs, u, ts):  # type: ignore[no-untyped-def]
    """Make a unit active at a time, all its windows fresh."""
    within, slide = P[P[U_WITHIN] + u], P[P[U_SLIDE] + u]
    w, nc = P[P[U_W] + u], P[P[U_NC] + u]
    hi = ts // slide
    lo = (ts - within) // slide + 1
    base = P[P[U_VBASE] + u]
    for k in range(base, base + P[P[U_NROWS] + u] * w * nc):
        numbers.set_zero(v, k)
    xbase = P[P[U_XBASE] + u]
    for k in range(xbase, xbase + P[P[U_NROWS] + u] * w * P[P[U_NX] + u]):
        x[k] = np.inf
    slot = lo % w
    for row in range(P[P[U_NROWS] + u]):
        if P[P[R_START] + P[P[U_RBASE] + u] + row] == 1:
            at = slot
            for _ in range(lo, hi + 1):
                numbers.set_one(v, base + (row * w + at) * nc)
                at += 1
                if at == w:
                    at = 0
    S[P[S_LO] + u] = lo
    S[P[S_HI] + u] = hi
    S[P[S_DUE] + u] = min(lo * slide + within, (hi + 1) * slide)
    S[P[S_TOUCHED] + u] = lo - 1
    for g in range(P[P[U_G_P] + u], P[P[U_G_P] + u + 1]):
        for k in range(P[P[G_SBASE] + g], P[P[G_SBASE] + g] + P[P[G_N] + g]):
            S[P[S_G_L] + k] = NO_STEP
        S[P[S_G_DONE] + g] = NO_STEP
    for k in range(P[P[U_LOG_P] + u], P[P[U_LOG_P] + u + 1]):
        S[P[S_LOG_HEAD] + P[P[U_LOG] + k]] = 0
        S[P[S_LOG_LEN] + P[P[U_LOG] + k]] = 0
    for k in range(P[P[U_GLOG_P] + u], P[P[U_GLOG_P] + u + 1]):
        S[P[S_GLOG_LEN] + k] = 0
    S[P[S_BLOCK] + u] = ts // within
    for k in range(2 * P[P[U_TREE_P] + u], 2 * P[P[U_TREE_P] + u + 1]):
        S[P[S_T_BITS] + k] = EMPTY
    S[P[S_WHERE] + u] = S[C_ACTIVE]
    S[P[S_ACTIVE] + S[C_ACTIVE]] = u
    S[C_ACTIVE] += 1
    _stamp(P, S, zf, zs, u)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _stamp(P, S, zf, zs, u):  # type: ignore[no-untyped-def]
    """Remember that a unit is up to date with its lazy accumulator."""
    z = P[P[U_LAZY] + u]
    if z < 0:
        return
    S[P[S_STAMP_N] + u] = S[P[S_Z_N] + z]
    S[P[S_STAMP_EVENTS] + u] = S[P[S_Z_EVENTS] + z]
    zf[2 * (P[N_Z] + u) + 0] = zf[2 * (z) + 0]
    zf[2 * (P[N_Z] + u) + 1] = zf[2 * (z) + 1]
    op = P[P[U_LOP] + u]
    base = P[P[U_SBASE] + u]
    low = P[P[O_W_P] + op]
    for c in range(P[P[U_NC] + u] - 1):
        s = P[P[O_ZW] + low + c]
        if s >= 0:
            zs[2 * (P[N_SUMS] + base + c) + 0] = zs[2 * (s) + 0]
            zs[2 * (P[N_SUMS] + base + c) + 1] = zs[2 * (s) + 1]


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _run_extreme(P, S, spos, sval, stack, since):  # type: ignore[no-untyped-def]
    """The least value pushed at or after an event number."""
    low, high = 0, S[P[S_STACK_LEN] + stack]
    while low < high:
        middle = (low + high) // 2
        if spos[stack * S[C_STACK] + middle] < since:
            low = middle + 1
        else:
            high = middle
    return sval[stack * S[C_STACK] + low] if low < S[P[S_STACK_LEN] + stack] else np.inf


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _sync(P, S, v, x, zf, zs, spos, sval, u, err):  # type: ignore[no-untyped-def]
    """Apply to a unit the run of lazy events since it was last up to date.

    With U the sum of all rows the op reads, its own among them, n steps of m events each multiply
    U by A = product of (1 + m); what the run adds to every row of the state is (A - 1) U, and to a
    sum with weights also A times the sum of weights / (1 + m), times the count in U.
    """
    z = P[P[U_LAZY] + u]
    if z < 0:
        return
    n = S[P[S_Z_N] + z] - S[P[S_STAMP_N] + u]
    if n == 0:
        return
    am = zf[2 * (z) + 0] / zf[2 * (P[N_Z] + u) + 0]
    ae = zf[2 * (z) + 1] - zf[2 * (P[N_Z] + u) + 1]
    if am < 1.0 and ae > 0.0:
        am *= numbers.BASE
        ae -= 1.0
    am = numbers.factor(v, am, ae)
    op = P[P[U_LOP] + u]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    size = w * nc
    vbase, t = P[P[U_VBASE] + u], P[T_BASE]
    src0, src1 = P[P[O_SRC_P] + op], P[P[O_SRC_P] + op + 1]
    dst0, dst1 = P[P[O_DST_P] + op], P[P[O_DST_P] + op + 1]
    S[C_SNAPSHOTS] += 1
    _gather(P, v, vbase, src0, src1, size, t, err)
    for k in range(dst0, dst1):
        base = vbase + P[P[O_DST_ROW] + k] * size
        for e in range(size):
            numbers.add_growth(v, base + e, v, t + e, n, am, ae, err)
            if not numbers.is_safe(v, base + e):
                err[0] = 1
    wp = P[P[O_W_P] + op]
    for c in range(1, nc):
        s = P[P[O_ZW] + wp + c - 1]
        if s >= 0:
            stamp = P[N_SUMS] + P[P[U_SBASE] + u] + c - 1
            total = (zs[2 * (s) + 0] - zs[2 * (stamp) + 0]) + (
                zs[2 * (s) + 1] - zs[2 * (stamp) + 1]
            )
            for k in range(dst0, dst1):
                base = vbase + P[P[O_DST_ROW] + k] * size
                for slot in range(w):
                    numbers.add_weighted_growth(
                        v, base + slot * nc + c, v, t + slot * nc, n, am, ae, total, err
                    )
    if nx > 0:
        _sync_extremes(P, S, v, x, spos, sval, u, op)
    _stamp(P, S, zf, zs, u)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _gather(P, v, vbase, src0, src1, size, t, err):  # type: ignore[no-untyped-def]
    """The sum of some rows, into the numbers from t on."""
    row = vbase + P[P[O_SRC_ROW] + src0] * size
    for k in range(size):
        numbers.copy(v, t + k, v, row + k)
    for s in range(src0 + 1, src1):
        row = vbase + P[P[O_SRC_ROW] + s] * size
        for k in range(size):
            numbers.add(v, t + k, v, row + k, err)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _sync_extremes(P, S, v, x, spos, sval, u, op):  # type: ignore[no-untyped-def]
    """The extremes of a run; `_sync` has left its U from T_BASE on."""
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    xbase, xp = P[P[U_XBASE] + u], P[P[O_X_P] + op]
    for e in range(nx):
        stack = P[P[O_ZX] + xp + e]
        least = np.inf
        if stack >= 0:
            least = _run_extreme(P, S, spos, sval, stack, S[P[S_STAMP_EVENTS] + u])
        for slot in range(w):
            if numbers.is_zero(v, P[T_BASE] + slot * nc):
                continue
            value = least
            for k in range(P[P[O_SRC_P] + op], P[P[O_SRC_P] + op + 1]):
                value = min(value, x[xbase + (P[P[O_SRC_ROW] + k] * w + slot) * nx + e])
            for k in range(P[P[O_DST_P] + op], P[P[O_DST_P] + op + 1]):
                at = xbase + (P[P[O_DST_ROW] + k] * w + slot) * nx + e
                x[at] = min(x[at], value)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _direct(P, S, v, x, weights, extremes, op, i, err):  # type: ignore[no-untyped-def]
    """Compute and add at once: for an event alone in its time, with one op on the unit."""
    u = P[P[O_UNIT] + op]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    size = w * nc
    vbase, t = P[P[U_VBASE] + u], P[T_BASE]
    S[P[S_TOUCHED] + u] = S[P[S_HI] + u]
    _gather(P, v, vbase, P[P[O_SRC_P] + op], P[P[O_SRC_P] + op + 1], size, t, err)
    if nc > 1:
        wp = P[P[O_W_P] + op]
        for c in range(1, nc):
            weight = P[P[O_W] + wp + c - 1]
            if weight >= 0:
                factor = weights[(weight) * S[C_EVENTS] + i]
                for slot in range(t, t + size, nc):
                    numbers.add_times(v, slot + c, v, slot, factor, err)
            elif weight == -2:
                for slot in range(t, t + size, nc):
                    numbers.add(v, slot + c, v, slot, err)
    dst0, dst1 = P[P[O_DST_P] + op], P[P[O_DST_P] + op + 1]
    if nx > 0:
        xbase, xp = P[P[U_XBASE] + u], P[P[O_X_P] + op]
        for e in range(nx):
            own = np.inf
            attribute = P[P[O_X] + xp + e]
            if attribute >= 0:
                own = (
                    extremes[(attribute) * S[C_EVENTS] + i] * P[P[X_SIGN] + P[P[U_XSBASE] + u] + e]
                )
                if own != own:
                    own = np.inf
            for slot in range(w):
                if numbers.is_zero(v, t + slot * nc):
                    continue
                value = own
                for k in range(P[P[O_SRC_P] + op], P[P[O_SRC_P] + op + 1]):
                    value = min(value, x[xbase + (P[P[O_SRC_ROW] + k] * w + slot) * nx + e])
                for k in range(dst0, dst1):
                    at = xbase + (P[P[O_DST_ROW] + k] * w + slot) * nx + e
                    x[at] = min(x[at], value)
    for k in range(dst0, dst1):
        base = vbase + P[P[O_DST_ROW] + k] * size
        for e in range(size):
            numbers.add(v, base + e, v, t + e, err)


# Conditions that are looked at event by event


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _atoms_fit(P, S, letter, letters, cond, i):  # type: ignore[no-untyped-def]
    """Whether an event itself satisfies what an edge asks of it."""
    let = letter[i]
    for k in range(P[P[HOLDS_P] + cond], P[P[HOLDS_P] + cond + 1]):
        if letters[let * S[C_ATOMS] + P[P[HOLDS] + k]] == 0:
            return False
    for k in range(P[P[FAILS_P] + cond], P[P[FAILS_P] + cond + 1]):
        if letters[let * S[C_ATOMS] + P[P[FAILS] + k]] == 1:
            return False
    return True


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _compared(kind, a, b):  # type: ignore[no-untyped-def]
    """A comparison; false where a side is NaN, which stands for null."""
    if a != a or b != b:
        return False
    if kind == 0:
        return a < b
    if kind == 1:
        return a <= b
    if kind == 2:
        return a > b
    if kind == 3:
        return a >= b
    if kind == 4:
        return a == b
    return a != b


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _general(P, S, cols, parg, p, j, i):  # type: ignore[no-untyped-def]
    """A general predicate on a small stack machine; NaN stands for null and unknown.

    `j` is the event before, `i` the event now.
    """
    stack = np.empty(64)
    top = -1
    for k in range(P[P[P_CODE_P] + p], P[P[P_CODE_P] + p + 1]):
        opcode = P[P[P_CODE] + k]
        if opcode <= 2:
            top += 1
            if opcode == 0:
                stack[top] = parg[k]
            elif opcode == 1:
                stack[top] = cols[(int(parg[k])) * S[C_EVENTS] + j]
            else:
                stack[top] = cols[(int(parg[k])) * S[C_EVENTS] + i]
        elif opcode == 8:
            stack[top] = -stack[top]
        elif opcode == 17:
            if stack[top] == stack[top]:
                stack[top] = 1.0 - stack[top]
        elif opcode == 18:
            stack[top] = 1.0 if stack[top] != stack[top] else 0.0
        elif opcode == 19:
            stack[top] = 0.0 if stack[top] != stack[top] else 1.0
        else:
            b = stack[top]
            top -= 1
            a = stack[top]
            stack[top] = _binary(opcode, a, b)
    return stack[0] == 1.0


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _binary(opcode, a, b):  # type: ignore[no-untyped-def]
    if opcode == 15:  # and
        if a == 0.0 or b == 0.0:
            return 0.0
        return np.nan if a != a or b != b else 1.0
    if opcode == 16:  # or
        if a == 1.0 or b == 1.0:
            return 1.0
        return np.nan if a != a or b != b else 0.0
    if a != a or b != b:
        return np.nan
    if opcode == 3:
        return a + b
    if opcode == 4:
        return a - b
    if opcode == 5:
        return a * b
    if opcode == 6:
        return np.nan if b == 0.0 else a / b
    if opcode == 7:
        return np.nan if b == 0.0 else np.fmod(a, b)
    return 1.0 if _compared(opcode - 9, a, b) else 0.0


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _way_open(P, S, letter, letters, prev, nxt, cols, parg, alt, step, start, j, i):  # type: ignore[no-untyped-def]
    """Whether one way along an edge is open.

    From a stored event j: `step` is its step. From START: `step` is -1, `start` the window's start.
    """
    for k in range(P[P[ALT_GUARD_P] + alt], P[P[ALT_GUARD_P] + alt + 1]):
        g = P[P[ALT_GUARD] + k]
        if step >= 0:
            if S[P[S_G_DONE] + g] > step:
                return False
        elif S[P[S_G_DONE] + g] >= 0 and S[P[S_G_DONE_T] + g] >= start:
            return False
    for k in range(P[P[ALT_PRED_P] + alt], P[P[ALT_PRED_P] + alt + 1]):
        p = P[P[ALT_PRED] + k]
        kind = P[P[P_KIND] + p]
        if kind == 6:
            if not _general(P, S, cols, parg, p, j, i):
                return False
        elif not _compared(kind, prev[(p) * S[C_EVENTS] + j], nxt[(p) * S[C_EVENTS] + i]):
            return False
    return True


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _edge_open(P, S, letter, letters, prev, nxt, cols, parg, cond, step, start, j, i):  # type: ignore[no-untyped-def]
    """Whether an edge is taken from a stored event or START to event i (or to END, i = -1)."""
    if i >= 0 and not _atoms_fit(P, S, letter, letters, cond, i):
        return False
    for need in range(P[P[NEED_P] + cond], P[P[NEED_P] + cond + 1]):
        found = False
        for k in range(P[P[NEED_ALT_P] + need], P[P[NEED_ALT_P] + need + 1]):
            alt = P[P[NEED_ALT] + k]
            if _way_open(P, S, letter, letters, prev, nxt, cols, parg, alt, step, start, j, i):
                found = True
                break
        if not found:
            return False
    for k in range(P[P[FORBID_P] + cond], P[P[FORBID_P] + cond + 1]):
        alt = P[P[FORBID_ALT] + k]
        if _way_open(P, S, letter, letters, prev, nxt, cols, parg, alt, step, start, j, i):
            return False
    return True


# Trees


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _turn_block(P, S, u, ts):  # type: ignore[no-untyped-def]
    """Have the trees of a unit stand at the block of a time.

    Blocks are as long as the window, so what matters to an event is in its own block or in the one
    before. Each tree has two halves: one for each.
    """
    block = ts // P[P[U_WITHIN] + u]
    ahead = block - S[P[S_BLOCK] + u]
    if ahead == 0:
        return
    flip = 1 - S[P[S_FLIP] + u]
    S[P[S_BLOCK] + u] = block
    S[P[S_FLIP] + u] = flip
    for t in range(P[P[U_TREE_P] + u], P[P[U_TREE_P] + u + 1]):
        S[P[S_T_BITS] + 2 * t + flip] = EMPTY
        if ahead > 1:
            S[P[S_T_BITS] + 2 * t + 1 - flip] = EMPTY


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _add_range(P, S, tv, tx, t, half, low, high, out, out_x, at, at_x, size, size_x, err):  # type: ignore[no-untyped-def]
    """Add up the leaves from low to high, exclusive, of one half of a tree."""
    bits = S[P[S_T_BITS] + 2 * t + half]
    n = 1 << bits
    room = 2 << P[P[T_BITS] + t]
    base = P[P[T_VBASE] + t] + half * room * size
    base_x = P[P[T_XBASE] + t] + half * room * size_x
    left, right = low + n, min(high, n) + n
    while left < right:
        if left & 1:
            for k in range(size):
                numbers.add(out, at + k, tv, base + left * size + k, err)
            for k in range(size_x):
                out_x[at_x + k] = min(out_x[at_x + k], tx[base_x + left * size_x + k])
            left += 1
        if right & 1:
            right -= 1
            for k in range(size):
                numbers.add(out, at + k, tv, base + right * size + k, err)
            for k in range(size_x):
                out_x[at_x + k] = min(out_x[at_x + k], tx[base_x + right * size_x + k])
        left >>= 1
        right >>= 1


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _read_tree(P, S, tv, tx, tc, t, i, out, out_x, at, at_x, size, size_x, err):  # type: ignore[no-untyped-def]
    """Add up the events of a tree from which the edge to event i is open."""
    u = P[P[T_UNIT] + t]
    op = P[P[T_OP] + t]
    entry = (P[P[T_CLASS] + t] * S[C_EVENTS] + i) * 6
    everything = 1 << 40
    for age in range(2):
        half = S[P[S_FLIP] + u] if age == 0 else 1 - S[P[S_FLIP] + u]
        if S[P[S_T_BITS] + 2 * t + half] == EMPTY:
            continue
        below, upto = tc[entry + 2 + 2 * age], tc[entry + 3 + 2 * age]
        if below < 0:
            continue
        if op == 0:  # f(previous) < g(next): the keys below g
            low, high = 0, below
        elif op == 1:
            low, high = 0, upto
        elif op == 2:
            low, high = upto, everything
        elif op == 3:
            low, high = below, everything
        elif op == 4:
            low, high = below, upto
        else:
            low, high = 0, below
            _add_range(
                P, S, tv, tx, t, half, upto, everything, out, out_x, at, at_x, size, size_x, err
            )
        _add_range(P, S, tv, tx, t, half, low, high, out, out_x, at, at_x, size, size_x, err)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _add_leaf(P, S, tv, tx, tc, t, i, out, out_x, at, at_x, size, size_x, err):  # type: ignore[no-untyped-def]
    """Make event i a leaf of the current half of a tree, and add it to all nodes above."""
    u = P[P[T_UNIT] + t]
    entry = (P[P[T_CLASS] + t] * S[C_EVENTS] + i) * 6
    leaf = tc[entry]
    if leaf < 0:
        return
    half = S[P[S_FLIP] + u]
    room = 2 << P[P[T_BITS] + t]
    base = P[P[T_VBASE] + t] + half * room * size
    base_x = P[P[T_XBASE] + t] + half * room * size_x
    if S[P[S_T_BITS] + 2 * t + half] == EMPTY:
        bits = tc[entry + 1]
        S[P[S_T_BITS] + 2 * t + half] = bits
        for k in range((2 << bits) * size):
            numbers.set_zero(tv, base + k)
        for k in range((2 << bits) * size_x):
            tx[base_x + k] = np.inf
    node = leaf + (1 << S[P[S_T_BITS] + 2 * t + half])
    while node > 0:
        for k in range(size):
            numbers.add(tv, base + node * size + k, out, at + k, err)
        for k in range(size_x):
            tx[base_x + node * size_x + k] = min(tx[base_x + node * size_x + k], out_x[at_x + k])
        node >>= 1


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _clear_in_trees(P, S, tv, tx, u, slot):  # type: ignore[no-untyped-def]
    """Empty a window in all trees of a unit."""
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    for t in range(P[P[U_TREE_P] + u], P[P[U_TREE_P] + u + 1]):
        for half in range(2):
            bits = S[P[S_T_BITS] + 2 * t + half]
            if bits == EMPTY:
                continue
            room = 2 << P[P[T_BITS] + t]
            base = P[P[T_VBASE] + t] + half * room * w * nc + slot * nc
            base_x = P[P[T_XBASE] + t] + half * room * w * nx + slot * nx
            for node in range(2 << bits):
                for c in range(nc):
                    numbers.set_zero(tv, base + node * w * nc + c)
                for e in range(nx):
                    tx[base_x + node * w * nx + e] = np.inf


# Values


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _value(
    P,
    S,
    v,
    x,
    letter,
    letters,
    weights,
    extremes,
    prev,
    nxt,
    cols,
    parg,
    lg,
    lv,
    lx,
    gl,
    tv,
    tx,
    tc,
    op,
    i,
    out,
    out_x,
    at,
    at_x,
    err,
):  # type: ignore[no-untyped-def]
    """What event i adds at the state of an op, for each open window, into `out` from `at` on."""
    u = P[P[O_UNIT] + op]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    size, size_x = w * nc, w * nx
    vbase, xbase = P[P[U_VBASE] + u], P[P[U_XBASE] + u]
    wp, xp = P[P[O_W_P] + op], P[P[O_X_P] + op]
    for k in range(size):
        numbers.set_zero(out, at + k)
    for k in range(size_x):
        out_x[at_x + k] = np.inf
    for k in range(P[P[O_SRC_P] + op], P[P[O_SRC_P] + op + 1]):
        cond = P[P[O_SRC_COND] + k]
        if cond >= 0 and not _atoms_fit(P, S, letter, letters, cond, i):
            continue
        base = vbase + P[P[O_SRC_ROW] + k] * size
        for e in range(size):
            numbers.add(out, at + e, v, base + e, err)
        base = xbase + P[P[O_SRC_ROW] + k] * size_x
        for e in range(size_x):
            out_x[at_x + e] = min(out_x[at_x + e], x[base + e])
    for k in range(P[P[O_FIRST_P] + op], P[P[O_FIRST_P] + op + 1]):
        cond = P[P[O_FIRST_COND] + k]
        for window in range(S[P[S_LO] + u], S[P[S_HI] + u] + 1):
            start = window * P[P[U_SLIDE] + u]
            if _edge_open(P, S, letter, letters, prev, nxt, cols, parg, cond, -1, start, -1, i):
                numbers.set_one(v, P[T_BASE])
                numbers.add(out, at + window % w * nc, v, P[T_BASE], err)
    for k in range(P[P[O_TREE_P] + op], P[P[O_TREE_P] + op + 1]):
        t = P[P[O_TREE] + k]
        _read_tree(P, S, tv, tx, tc, t, i, out, out_x, at, at_x, size, size_x, err)
    for k in range(P[P[O_SCAN_P] + op], P[P[O_SCAN_P] + op + 1]):
        log, cond = P[P[O_SCAN_LOG] + k], P[P[O_SCAN_COND] + k]
        _scan(
            P,
            S,
            letter,
            letters,
            prev,
            nxt,
            cols,
            parg,
            lg,
            lv,
            lx,
            gl,
            log,
            cond,
            i,
            out,
            out_x,
            at,
            at_x,
            err,
        )
    for slot in range(w):
        d = at + slot * nc
        if numbers.is_zero(out, d):
            continue
        for c in range(1, nc):
            weight = P[P[O_W] + wp + c - 1]
            if weight >= 0:
                numbers.add_times(out, d + c, out, d, weights[(weight) * S[C_EVENTS] + i], err)
            elif weight == -2:
                numbers.add(out, d + c, out, d, err)
        for e in range(nx):
            attribute = P[P[O_X] + xp + e]
            if attribute >= 0:
                value = extremes[(attribute) * S[C_EVENTS] + i]
                if value == value:
                    dx = at_x + slot * nx + e
                    sign = P[P[X_SIGN] + P[P[U_XSBASE] + u] + e]
                    out_x[dx] = min(out_x[dx], value * sign)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _scan(
    P,
    S,
    letter,
    letters,
    prev,
    nxt,
    cols,
    parg,
    lg,
    lv,
    lx,
    gl,
    log,
    cond,
    i,
    out,
    out_x,
    at,
    at_x,
    err,
):  # type: ignore[no-untyped-def]
    """Add up the stored events of a log from which an edge to event i (or END) is open."""
    u = P[P[LOG_UNIT] + log]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    slide = P[P[U_SLIDE] + u]
    capacity = S[C_LOG]
    first = S[P[S_LO] + u] * slide
    while (
        S[P[S_LOG_HEAD] + log] < S[P[S_LOG_LEN] + log]
        and lg[(log * S[C_LOG] + S[P[S_LOG_HEAD] + log]) * 3 + 2] < first
    ):
        S[P[S_LOG_HEAD] + log] += 1
    for pos in range(S[P[S_LOG_HEAD] + log], S[P[S_LOG_LEN] + log]):
        j = lg[(log * S[C_LOG] + pos) * 3 + 0]
        if not _edge_open(
            P,
            S,
            letter,
            letters,
            prev,
            nxt,
            cols,
            parg,
            cond,
            lg[(log * S[C_LOG] + pos) * 3 + 1],
            0,
            j,
            i,
        ):
            continue
        base = P[P[LOG_VBASE] + log] * capacity + pos * w * nc
        xb = P[P[LOG_XBASE] + log] * capacity + pos * w * nx
        for window in range(S[P[S_LO] + u], S[P[S_HI] + u] + 1):
            if lg[(log * S[C_LOG] + pos) * 3 + 2] < window * slide:
                break
            slot = window % w
            for c in range(nc):
                numbers.add(out, at + slot * nc + c, lv, base + slot * nc + c, err)
            for e in range(nx):
                dx = at_x + slot * nx + e
                out_x[dx] = min(out_x[dx], lx[xb + slot * nx + e])


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _commit(P, S, v, x, lg, lv, lx, gl, tv, tx, tc, op, i, ts, out, out_x, at, at_x, err):  # type: ignore[no-untyped-def]
    """Add what an event has been found to add."""
    u = P[P[O_UNIT] + op]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    vbase, xbase = P[P[U_VBASE] + u], P[P[U_XBASE] + u]
    log = P[P[O_LOG] + op]
    lb, lxb = 0, 0
    if log >= 0:
        pos = S[P[S_LOG_LEN] + log]
        S[P[S_LOG_LEN] + log] += 1
        lg[(log * S[C_LOG] + pos) * 3 + 0] = i
        lg[(log * S[C_LOG] + pos) * 3 + 1] = S[C_STEPS]
        lg[(log * S[C_LOG] + pos) * 3 + 2] = ts
        lb = P[P[LOG_VBASE] + log] * S[C_LOG] + pos * w * nc
        lxb = P[P[LOG_XBASE] + log] * S[C_LOG] + pos * w * nx
    S[P[S_TOUCHED] + u] = S[P[S_HI] + u]
    size, size_x = w * nc, w * nx
    for k in range(P[P[O_DST_P] + op], P[P[O_DST_P] + op + 1]):
        base = vbase + P[P[O_DST_ROW] + k] * size
        for e in range(size):
            numbers.add(v, base + e, out, at + e, err)
        base = xbase + P[P[O_DST_ROW] + k] * size_x
        for e in range(size_x):
            x[base + e] = min(x[base + e], out_x[at_x + e])
    for k in range(P[P[O_LEAF_P] + op], P[P[O_LEAF_P] + op + 1]):
        t = P[P[O_LEAF] + k]
        _add_leaf(P, S, tv, tx, tc, t, i, out, out_x, at, at_x, size, size_x, err)
    if log >= 0:
        for e in range(size):
            numbers.copy(lv, lb + e, out, at + e)
        for e in range(size_x):
            lx[lxb + e] = out_x[at_x + e]


# Guards


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _guard_start(P, S, letter, letters, prev, nxt, cols, parg, lg, lv, lx, gl, gop, i, ts):  # type: ignore[no-untyped-def]
    """The latest start of a match of a guard that event i ends or goes on: source, step, time.

    The source is the guard state whose partial match is gone on with, -1 for a match that begins with
    the event, and -2 where there is none.
    """
    g = P[P[GOP_GUARD] + gop]
    base = P[P[G_SBASE] + g]
    gs = base + P[P[GOP_STATE] + gop]
    best, best_t, source = NO_STEP, 0, -2
    for k in range(P[P[GS_IN_P] + gs], P[P[GS_IN_P] + gs + 1]):
        s, cond = P[P[GS_IN_SOURCE] + k], P[P[GS_IN_COND] + k]
        if P[P[GS_IN_SCAN] + k] == 0:
            if cond >= 0 and not _atoms_fit(P, S, letter, letters, cond, i):
                continue
            start = S[C_STEPS] if s < 0 else S[P[S_G_L] + base + s]
            start_t = ts if s < 0 else S[P[S_G_LT] + base + s]
            if start > best:
                best, best_t, source = start, start_t, s
        else:
            log = P[P[GS_LOG] + base + s]
            for pos in range(S[P[S_GLOG_LEN] + log]):
                start = gl[(log * S[C_GLOG] + pos) * 3 + 1]
                if start > best and _edge_open(
                    P,
                    S,
                    letter,
                    letters,
                    prev,
                    nxt,
                    cols,
                    parg,
                    cond,
                    0,
                    0,
                    gl[(log * S[C_GLOG] + pos) * 3 + 0],
                    i,
                ):
                    best, best_t, source = start, gl[(log * S[C_GLOG] + pos) * 3 + 2], s
    return source, best, best_t


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _reset_row(P, v, x, u, row):  # type: ignore[no-untyped-def]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    base = P[P[U_VBASE] + u] + row * w * nc
    for k in range(w * nc):
        numbers.set_zero(v, base + k)
    xbase = P[P[U_XBASE] + u] + row * w * nx
    for k in range(w * nx):
        x[xbase + k] = np.inf


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _copy_row(P, v, x, u, to, source):  # type: ignore[no-untyped-def]
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    base = P[P[U_VBASE] + u]
    for k in range(w * nc):
        numbers.copy(v, base + to * w * nc + k, v, base + source * w * nc + k)
    xbase = P[P[U_XBASE] + u]
    for k in range(w * nx):
        x[xbase + to * w * nx + k] = x[xbase + source * w * nx + k]


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _complete_guards(P, S, v, x, lg, lv, lx, gl, n, gops, kept, kept_x):  # type: ignore[no-untyped-def]
    """Apply what the n events of one step did to guards; partial matches read the state before it."""
    # Copies that are gone on with are put aside first, because another event of the step may change them.
    at, at_x = 0, 0
    for k in range(n):
        g = P[P[GOP_GUARD] + gops[5 * k]]
        u = P[P[G_UNIT] + g]
        size, size_x = P[P[U_W] + u] * P[P[U_NC] + u], P[P[U_W] + u] * P[P[U_NX] + u]
        if gops[5 * k + 2] < 0:
            continue
        for m in range(P[P[G_MAIN_P] + g], P[P[G_MAIN_P] + g + 1]):
            entry = P[P[G_COPY_P] + g] + (m - P[P[G_MAIN_P] + g]) * P[P[G_N] + g]
            row = P[P[G_COPY_ROW] + entry + gops[5 * k + 2]]
            for c in range(size):
                numbers.copy(kept, at + c, v, P[P[U_VBASE] + u] + row * size + c)
            for c in range(size_x):
                kept_x[at_x + c] = x[P[P[U_XBASE] + u] + row * size_x + c]
            at += size
            at_x += size_x
    at, at_x = 0, 0
    for k in range(n):
        g = P[P[GOP_GUARD] + gops[5 * k]]
        u = P[P[G_UNIT] + g]
        j = P[P[GOP_STATE] + gops[5 * k]]
        gs = P[P[G_SBASE] + g] + j
        size, size_x = P[P[U_W] + u] * P[P[U_NC] + u], P[P[U_W] + u] * P[P[U_NX] + u]
        begun = at, at_x
        if gops[5 * k + 2] >= 0:
            mains = P[P[G_MAIN_P] + g + 1] - P[P[G_MAIN_P] + g]
            at += size * mains
            at_x += size_x * mains
        if gops[5 * k + 2] == -2:
            continue
        log = P[P[GS_LOG] + gs]
        if log >= 0:
            pos = S[P[S_GLOG_LEN] + log]
            gl[(log * S[C_GLOG] + pos) * 3 + 0] = gops[5 * k + 1]
            gl[(log * S[C_GLOG] + pos) * 3 + 1] = gops[5 * k + 3]
            gl[(log * S[C_GLOG] + pos) * 3 + 2] = gops[5 * k + 4]
            S[P[S_GLOG_LEN] + log] += 1
        improved = gops[5 * k + 3] > S[P[S_G_L] + gs]
        if improved:
            S[P[S_G_L] + gs] = gops[5 * k + 3]
            S[P[S_G_LT] + gs] = gops[5 * k + 4]
        ends = P[P[GS_END] + gs] == 1 and gops[5 * k + 3] > S[P[S_G_DONE] + g]
        if ends:
            S[P[S_G_DONE] + g] = gops[5 * k + 3]
            S[P[S_G_DONE_T] + g] = gops[5 * k + 4]
            for m in range(P[P[G_RESET_P] + g], P[P[G_RESET_P] + g + 1]):
                _reset_row(P, v, x, u, P[P[G_RESET_ROW] + m])
            for m in range(P[P[G_TREE_P] + g], P[P[G_TREE_P] + g + 1]):
                S[P[S_T_BITS] + 2 * P[P[G_TREE] + m]] = EMPTY
                S[P[S_T_BITS] + 2 * P[P[G_TREE] + m] + 1] = EMPTY
        if not improved:
            continue
        for m in range(P[P[G_MAIN_P] + g], P[P[G_MAIN_P] + g + 1]):
            entry = P[P[G_COPY_P] + g] + (m - P[P[G_MAIN_P] + g]) * P[P[G_N] + g]
            row = P[P[G_COPY_ROW] + entry + j]
            if gops[5 * k + 2] < 0:
                _reset_row(P, v, x, u, row)
            else:
                offset = begun[0] + (m - P[P[G_MAIN_P] + g]) * size
                offset_x = begun[1] + (m - P[P[G_MAIN_P] + g]) * size_x
                for c in range(size):
                    numbers.copy(v, P[P[U_VBASE] + u] + row * size + c, kept, offset + c)
                for c in range(size_x):
                    x[P[P[U_XBASE] + u] + row * size_x + c] = kept_x[offset_x + c]
            if ends:
                _copy_row(P, v, x, u, P[P[G_MAIN_ROW] + m], row)


# Windows


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _close(
    P,
    S,
    v,
    x,
    letter,
    letters,
    prev,
    nxt,
    cols,
    parg,
    lg,
    lv,
    lx,
    gl,
    out_r,
    out_v,
    out_x,
    out_n,
    part,
    u,
    window,
    err,
):  # type: ignore[no-untyped-def]
    """Write the result of a window, if any trend matched in it."""
    w, nc, nx = P[P[U_W] + u], P[P[U_NC] + u], P[P[U_NX] + u]
    slot = window % w
    record = out_n[0]
    most, most_x = S[C_MOST], S[C_MOST_X]
    d = record * most
    for c in range(nc):
        numbers.set_zero(out_v, d + c)
    for e in range(most_x):
        out_x[record * most_x + e] = np.inf
    for k in range(P[P[END_P] + u], P[P[END_P] + u + 1]):
        row = P[P[END_ROW] + k] * w + slot
        for c in range(nc):
            numbers.add(out_v, d + c, v, P[P[U_VBASE] + u] + row * nc + c, err)
        for e in range(nx):
            value = x[P[P[U_XBASE] + u] + row * nx + e]
            out_x[record * most_x + e] = min(out_x[record * most_x + e], value)
    for k in range(P[P[ESCAN_P] + u], P[P[ESCAN_P] + u + 1]):
        log, cond = P[P[ESCAN_LOG] + k], P[P[ESCAN_COND] + k]
        capacity = S[C_LOG]
        for pos in range(S[P[S_LOG_HEAD] + log], S[P[S_LOG_LEN] + log]):
            if lg[(log * S[C_LOG] + pos) * 3 + 2] < window * P[P[U_SLIDE] + u]:
                continue
            if not _edge_open(
                P,
                S,
                letter,
                letters,
                prev,
                nxt,
                cols,
                parg,
                cond,
                lg[(log * S[C_LOG] + pos) * 3 + 1],
                0,
                lg[(log * S[C_LOG] + pos) * 3 + 0],
                -1,
            ):
                continue
            base = P[P[LOG_VBASE] + log] * capacity + (pos * w + slot) * nc
            xb = P[P[LOG_XBASE] + log] * capacity + (pos * w + slot) * nx
            for c in range(nc):
                numbers.add(out_v, d + c, lv, base + c, err)
            for e in range(nx):
                out_x[record * most_x + e] = min(out_x[record * most_x + e], lx[xb + e])
    if numbers.is_zero(out_v, d):
        return
    for c in range(nc):
        if not numbers.is_safe(out_v, d + c):
            err[0] = 1
    for e in range(nx):
        out_x[record * most_x + e] *= P[P[X_SIGN] + P[P[U_XSBASE] + u] + e]
    out_r[3 * record + 0] = part
    out_r[3 * record + 1] = u
    out_r[3 * record + 2] = window
    out_n[0] += 1


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _roll(
    P,
    S,
    v,
    x,
    zf,
    zs,
    spos,
    sval,
    letter,
    letters,
    prev,
    nxt,
    cols,
    parg,
    lg,
    lv,
    lx,
    gl,
    out_r,
    out_v,
    out_x,
    out_n,
    tv,
    tx,
    part,
    u,
    ts,
    err,
):  # type: ignore[no-untyped-def]
    """Close the windows of a unit that have ended by `ts` and open those that have begun."""
    _sync(P, S, v, x, zf, zs, spos, sval, u, err)
    within, slide = P[P[U_WITHIN] + u], P[P[U_SLIDE] + u]
    lo, hi = (ts - within) // slide + 1, ts // slide
    for window in range(S[P[S_LO] + u], min(S[P[S_HI] + u], lo - 1) + 1):
        _close(
            P,
            S,
            v,
            x,
            letter,
            letters,
            prev,
            nxt,
            cols,
            parg,
            lg,
            lv,
            lx,
            gl,
            out_r,
            out_v,
            out_x,
            out_n,
            part,
            u,
            window,
            err,
        )
    w = P[P[U_W] + u]
    for window in range(S[P[S_LO] + u], min(S[P[S_HI] + u], lo - 1) + 1):
        _fill_slot(P, v, x, u, window % w, False)
        _clear_in_trees(P, S, tv, tx, u, window % w)
    for window in range(max(S[P[S_HI] + u] + 1, lo), hi + 1):
        _fill_slot(P, v, x, u, window % w, True)
    S[P[S_LO] + u], S[P[S_HI] + u] = lo, hi
    S[P[S_DUE] + u] = min(lo * slide + within, (hi + 1) * slide)
    if S[P[S_TOUCHED] + u] < lo and P[P[U_ALWAYS] + u] == 0:
        last = S[P[S_ACTIVE] + S[C_ACTIVE] - 1]
        S[P[S_ACTIVE] + S[P[S_WHERE] + u]] = last
        S[P[S_WHERE] + last] = S[P[S_WHERE] + u]
        S[P[S_WHERE] + u] = -1
        S[C_ACTIVE] -= 1


# Lazy accumulators


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _multiply(zf, z, factor):  # type: ignore[no-untyped-def]
    """z_a[z] *= factor, for a factor of at most 2^200."""
    m = zf[2 * (z) + 0] * factor
    if m >= numbers.HIGH:
        m *= numbers.INVERSE
        zf[2 * (z) + 1] += 1.0
    zf[2 * (z) + 0] = m


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _add_sum(zs, s, value, is_float):  # type: ignore[no-untyped-def]
    """z_s[s] += value; what a double loses in rounding is kept in a second one."""
    a = zs[2 * (s) + 0]
    total = a + value
    zs[2 * (s) + 0] = total
    if is_float:
        back = total - a
        zs[2 * (s) + 1] += (a - (total - back)) + (value - back)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _push(P, S, spos, sval, stack, position, value):  # type: ignore[no-untyped-def]
    """Push a value; greater ones before it will never be the least again."""
    n = S[P[S_STACK_LEN] + stack]
    while n > 0 and sval[stack * S[C_STACK] + n - 1] >= value:
        n -= 1
    spos[stack * S[C_STACK] + n] = position
    sval[stack * S[C_STACK] + n] = value
    S[P[S_STACK_LEN] + stack] = n + 1


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _take_run(P, S, zf, zs, spos, sval, letter, weights, extremes, Lt, is_float, i0, i1):  # type: ignore[no-untyped-def]
    """Take a run of events of one letter and different times into the accumulators."""
    let = letter[i0]
    n = i1 - i0
    for k in range(Lt[Lt[L_Z_P] + let], Lt[Lt[L_Z_P] + let + 1]):
        z = Lt[Lt[L_Z] + k]
        for s in range(P[P[ZS_P] + z], P[P[ZS_P] + z + 1]):
            weight = P[P[ZS_WEIGHT] + s]
            if weight < 0:
                _add_sum(zs, s, n * 0.5 if is_float else n, is_float)
            else:
                for i in range(i0, i1):
                    value = weights[(weight) * S[C_EVENTS] + i]
                    _add_sum(zs, s, value * 0.5 if is_float else value, is_float)
        for s in range(P[P[ZX_P] + z], P[P[ZX_P] + z + 1]):
            attribute = P[P[ZX_ATTRIBUTE] + s]
            for i in range(i0, i1):
                value = extremes[(attribute >> 1) * S[C_EVENTS] + i]
                if value == value:
                    signed = -value if attribute & 1 else value
                    _push(P, S, spos, sval, s, S[P[S_Z_EVENTS] + z] + i - i0, signed)
        S[P[S_Z_N] + z] += n
        S[P[S_Z_EVENTS] + z] += n
        if is_float:
            left = n
            while left > 0:
                part = min(left, 200)
                _multiply(zf, z, 2.0**part)
                left -= part


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _is_large(P, zs, Lt, let):  # type: ignore[no-untyped-def]
    """Whether an integer sum of weights has grown so far that it must be applied and begun anew."""
    for k in range(Lt[Lt[L_Z_P] + let], Lt[Lt[L_Z_P] + let + 1]):
        z = Lt[Lt[L_Z] + k]
        for s in range(P[P[ZS_P] + z], P[P[ZS_P] + z + 1]):
            if abs(float(zs[2 * (s) + 0])) > 2.0**60:
                return True
    return False


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _restart_sums(P, S, v, x, zf, zs, spos, sval, err):  # type: ignore[no-untyped-def]
    """Bring every active unit up to date and begin all sums anew."""
    for k in range(S[C_ACTIVE]):
        _sync(P, S, v, x, zf, zs, spos, sval, S[P[S_ACTIVE] + k], err)
    for s in range(P[N_SUMS]):
        zs[2 * (s) + 0] = 0
        zs[2 * (s) + 1] = 0
    for k in range(S[C_ACTIVE]):
        _stamp(P, S, zf, zs, S[P[S_ACTIVE] + k])


# The walk


# What the walk may need more of before it can go on
ROOM_OUT, ROOM_SCRATCH, ROOM_SCRATCH_X, ROOM_PENDING, ROOM_LOGS, ROOM_GUARD_LOGS, ROOM_KEPT = range(
    1, 8
)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _next_due(P, S):  # type: ignore[no-untyped-def]
    """When a window of an active unit opens or closes next."""
    due = FAR
    for k in range(S[C_ACTIVE]):
        due = min(due, S[P[S_DUE] + S[P[S_ACTIVE] + k]])
    return due


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _touch(P, S, v, x, zf, zs, met, n_met, u, ts, step):  # type: ignore[no-untyped-def]
    """Note that a step touches a unit, made active if need be; how many it touches now."""
    if S[P[S_WHERE] + u] >= 0 and S[P[S_SEEN] + u] == step:
        return n_met
    if S[P[S_WHERE] + u] < 0:
        _activate(P, S, v, x, zf, zs, u, ts)
    S[P[S_SEEN] + u] = step
    met[n_met] = u
    return n_met + 1


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _begin(P, S, zf, zs):  # type: ignore[no-untyped-def]
    """Begin a partition with nothing in it."""
    S[C_ACTIVE] = 0
    S[C_STEPS] = 0
    for z in range(P[N_Z]):
        S[P[S_Z_N] + z] = 0
        S[P[S_Z_EVENTS] + z] = 0
        zf[2 * z] = 1.0
        zf[2 * z + 1] = 0.0
    for s in range(2 * P[N_SUMS]):
        zs[s] = 0
    for s in range(P[P[ZX_P] + P[N_Z]]):
        S[P[S_STACK_LEN] + s] = 0


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _walk(
    P,
    S,
    v,
    x,
    zf,
    zs,
    spos,
    sval,
    part_of,
    ts_of,
    tied,
    letter,
    letters,
    weights,
    extremes,
    prev,
    nxt,
    cols,
    parg,
    Lt,
    lg,
    lv,
    lx,
    gl,
    out_r,
    out_v,
    out_x,
    out_n,
    tv,
    tx,
    tc,
    scratch,
    scratch_x,
    kept,
    kept_x,
    pend,
    met,
    gops,
    is_float,
    part,
    i,
    end,
    until,
    err,
):  # type: ignore[no-untyped-def]
    """Walk through the events of a partition from i on, until its end or until room is short.

    At the end all windows are closed, or, with `until` before the end of time, those that end by then.
    Returns where it stands and what it needs more of (0: nothing, it is done). What it needs is
    found out before anything of a step is changed, so it goes on as if it had not stopped.
    """
    due = _next_due(P, S)
    while i < end:
        ts = ts_of[i]
        if ts >= due:
            if out_n[0] + S[C_WINDOWS] > S[C_ROOM]:
                return i, ROOM_OUT
            k = 0
            while k < S[C_ACTIVE]:
                u = S[P[S_ACTIVE] + k]
                if ts >= S[P[S_DUE] + u]:
                    _roll(
                        P,
                        S,
                        v,
                        x,
                        zf,
                        zs,
                        spos,
                        sval,
                        letter,
                        letters,
                        prev,
                        nxt,
                        cols,
                        parg,
                        lg,
                        lv,
                        lx,
                        gl,
                        out_r,
                        out_v,
                        out_x,
                        out_n,
                        tv,
                        tx,
                        part,
                        u,
                        ts,
                        err,
                    )
                    if S[P[S_WHERE] + u] < 0:
                        continue  # another unit has taken its place in the list
                k += 1
            due = _next_due(P, S)
        let = letter[i]
        j = i + 1
        alone = j >= end or tied[j] == 0
        # A run: one letter that only lazy ops know, different times, no window boundary.
        if alone and Lt[Lt[L_LAZY] + let] == 1:
            while (
                j < end
                and letter[j] == let
                and ts_of[j] < due
                and tied[j] == 0
                and (j + 1 >= end or tied[j + 1] == 0)
            ):
                j += 1
            if not is_float and P[N_SUMS] > 0:
                if _is_large(P, zs, Lt, let):
                    _restart_sums(P, S, v, x, zf, zs, spos, sval, err)
                j = min(j, i + 64)  # so that a sum of weights is looked at before it can wrap
            _take_run(P, S, zf, zs, spos, sval, letter, weights, extremes, Lt, is_float, i, j)
            S[C_STEPS] += j - i
            S[C_BURSTS] += 1
            i = j
            continue
        if alone and Lt[Lt[L_DIRECT] + let] == 1:
            for k in range(Lt[Lt[L_OPS_P] + let], Lt[Lt[L_OPS_P] + let + 1]):
                op = Lt[Lt[L_OPS] + k]
                u = P[P[O_UNIT] + op]
                if S[P[S_WHERE] + u] < 0:
                    _activate(P, S, v, x, zf, zs, u, ts)
                    due = min(due, S[P[S_DUE] + u])
                else:
                    _sync(P, S, v, x, zf, zs, spos, sval, u, err)
                _direct(P, S, v, x, weights, extremes, op, i, err)
            if Lt[Lt[L_Z_P] + let] < Lt[Lt[L_Z_P] + let + 1]:
                _take_run(P, S, zf, zs, spos, sval, letter, weights, extremes, Lt, is_float, i, j)
            S[C_STEPS] += 1
            S[C_BURSTS] += 1
            i = j
            if err[0] != 0:
                return i, 0
            continue
        while j < end and tied[j] == 1:
            j += 1
        # What the events of the step touch
        step = S[C_STEPS]
        n_met, n_pend, n_gops, numbers_needed, extremes_needed = 0, 0, 0, 0, 0
        kept_needed, kept_x_needed = 0, 0
        for e in range(i, j):
            let = letter[e]
            for k in range(Lt[Lt[L_OPS_P] + let], Lt[Lt[L_OPS_P] + let + 1]):
                u = P[P[O_UNIT] + Lt[Lt[L_OPS] + k]]
                n_met = _touch(P, S, v, x, zf, zs, met, n_met, u, ts, step)
                n_pend += 1
                numbers_needed += P[P[U_W] + u] * P[P[U_NC] + u]
                extremes_needed += P[P[U_W] + u] * P[P[U_NX] + u]
            for k in range(Lt[Lt[L_GOPS_P] + let], Lt[Lt[L_GOPS_P] + let + 1]):
                g = P[P[GOP_GUARD] + Lt[Lt[L_GOPS] + k]]
                u = P[P[G_UNIT] + g]
                n_met = _touch(P, S, v, x, zf, zs, met, n_met, u, ts, step)
                S[P[S_TOUCHED] + u] = S[P[S_HI] + u]
                n_gops += 1
                mains = P[P[G_MAIN_P] + g + 1] - P[P[G_MAIN_P] + g]
                kept_needed += mains * P[P[U_W] + u] * P[P[U_NC] + u]
                kept_x_needed += mains * P[P[U_W] + u] * P[P[U_NX] + u]
        due = min(due, _next_due(P, S))
        if j > i + 1:
            if not is_float:
                # Several lazy events of one time multiply by (1 + m), which is no shift.
                for k in range(S[C_ACTIVE]):
                    u = S[P[S_ACTIVE] + k]
                    z = P[P[U_LAZY] + u]
                    if S[P[S_SEEN] + u] != step and z >= 0:
                        if _multiplicity(letter, Lt, i, j, z) > 1:
                            n_met = _touch(P, S, v, x, zf, zs, met, n_met, u, ts, step)
            for k in range(n_met):
                u = met[k]
                z = P[P[U_LAZY] + u]
                if z >= 0:
                    m = _multiplicity(letter, Lt, i, j, z)
                    n_pend += m
                    numbers_needed += m * P[P[U_W] + u] * P[P[U_NC] + u]
                    extremes_needed += m * P[P[U_W] + u] * P[P[U_NX] + u]
        short = _short_of(
            P, S, numbers_needed, extremes_needed, n_pend, n_gops, kept_needed, kept_x_needed, j - i
        )
        if short != 0:
            for k in range(n_met):
                S[P[S_SEEN] + met[k]] = -1
            return i, short
        for k in range(n_met):
            _sync(P, S, v, x, zf, zs, spos, sval, met[k], err)
            _turn_block(P, S, met[k], ts)
        # What they add, all from the state before the step
        n_pend, at, at_x = 0, 0, 0
        for e in range(i, j):
            let = letter[e]
            for k in range(Lt[Lt[L_OPS_P] + let], Lt[Lt[L_OPS_P] + let + 1]):
                op = Lt[Lt[L_OPS] + k]
                u = P[P[O_UNIT] + op]
                pend[4 * n_pend], pend[4 * n_pend + 1] = op, e
                pend[4 * n_pend + 2], pend[4 * n_pend + 3] = at, at_x
                n_pend += 1
                at += P[P[U_W] + u] * P[P[U_NC] + u]
                at_x += P[P[U_W] + u] * P[P[U_NX] + u]
            if j == i + 1:
                continue
            for k in range(n_met):
                u = met[k]
                z = P[P[U_LAZY] + u]
                if z >= 0 and _has_lazy(Lt, let, z):
                    pend[4 * n_pend], pend[4 * n_pend + 1] = P[P[U_LOP] + u], e
                    pend[4 * n_pend + 2], pend[4 * n_pend + 3] = at, at_x
                    n_pend += 1
                    at += P[P[U_W] + u] * P[P[U_NC] + u]
                    at_x += P[P[U_W] + u] * P[P[U_NX] + u]
        for k in range(n_pend):
            _value(
                P,
                S,
                v,
                x,
                letter,
                letters,
                weights,
                extremes,
                prev,
                nxt,
                cols,
                parg,
                lg,
                lv,
                lx,
                gl,
                tv,
                tx,
                tc,
                pend[4 * k],
                pend[4 * k + 1],
                scratch,
                scratch_x,
                pend[4 * k + 2],
                pend[4 * k + 3],
                err,
            )
        # Guards that they complete or go on with
        n_gops = 0
        for e in range(i, j):
            let = letter[e]
            for k in range(Lt[Lt[L_GOPS_P] + let], Lt[Lt[L_GOPS_P] + let + 1]):
                gop = Lt[Lt[L_GOPS] + k]
                source, start, start_t = _guard_start(
                    P, S, letter, letters, prev, nxt, cols, parg, lg, lv, lx, gl, gop, e, ts
                )
                gops[5 * n_gops], gops[5 * n_gops + 1] = gop, e
                gops[5 * n_gops + 2], gops[5 * n_gops + 3] = source, start
                gops[5 * n_gops + 4] = start_t
                n_gops += 1
        if n_gops > 0:
            _complete_guards(P, S, v, x, lg, lv, lx, gl, n_gops, gops, kept, kept_x)
        for k in range(n_pend):
            _commit(
                P,
                S,
                v,
                x,
                lg,
                lv,
                lx,
                gl,
                tv,
                tx,
                tc,
                pend[4 * k],
                pend[4 * k + 1],
                ts,
                scratch,
                scratch_x,
                pend[4 * k + 2],
                pend[4 * k + 3],
                err,
            )
        # The others get the lazy events of the step through the accumulators
        _take_step(P, S, zf, zs, spos, sval, letter, weights, extremes, Lt, is_float, i, j)
        for k in range(n_met):
            _stamp(P, S, zf, zs, met[k])
        S[C_STEPS] += 1
        S[C_BURSTS] += 1
        i = j
        if err[0] != 0:
            return i, 0
    if out_n[0] + S[C_WINDOWS] > S[C_ROOM]:
        return i, ROOM_OUT
    if until < FAR:
        k = 0
        while k < S[C_ACTIVE]:
            u = S[P[S_ACTIVE] + k]
            _sync(P, S, v, x, zf, zs, spos, sval, u, err)
            if until >= S[P[S_DUE] + u]:
                _roll(
                    P,
                    S,
                    v,
                    x,
                    zf,
                    zs,
                    spos,
                    sval,
                    letter,
                    letters,
                    prev,
                    nxt,
                    cols,
                    parg,
                    lg,
                    lv,
                    lx,
                    gl,
                    out_r,
                    out_v,
                    out_x,
                    out_n,
                    tv,
                    tx,
                    part,
                    u,
                    until,
                    err,
                )
                if S[P[S_WHERE] + u] < 0:
                    continue
            k += 1
        return i, 0
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        _sync(P, S, v, x, zf, zs, spos, sval, u, err)
        for window in range(S[P[S_LO] + u], S[P[S_HI] + u] + 1):
            _close(
                P,
                S,
                v,
                x,
                letter,
                letters,
                prev,
                nxt,
                cols,
                parg,
                lg,
                lv,
                lx,
                gl,
                out_r,
                out_v,
                out_x,
                out_n,
                part,
                u,
                window,
                err,
            )
    return i, 0


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _short_of(P, S, scratch, scratch_x, pending, gops, kept, kept_x, events):  # type: ignore[no-untyped-def]
    """What there is not room enough for; how much is wanted goes to S."""
    if scratch > S[C_SCRATCH]:
        S[C_SCRATCH] = 2 * scratch
        return ROOM_SCRATCH
    if scratch_x > S[C_SCRATCH_X]:
        S[C_SCRATCH_X] = 2 * scratch_x
        return ROOM_SCRATCH_X
    if max(pending, gops) > S[C_PENDING]:
        S[C_PENDING] = 2 * max(pending, gops)
        return ROOM_PENDING
    if max(kept, kept_x) > S[C_KEPT]:
        S[C_KEPT] = 2 * max(kept, kept_x)
        return ROOM_KEPT
    for k in range(S[C_LOGS]):
        if S[P[S_LOG_LEN] + k] + events > S[C_LOG]:
            S[C_WANTED] = events
            return ROOM_LOGS
    for k in range(S[C_GUARD_LOGS]):
        if S[P[S_GLOG_LEN] + k] + events > S[C_GLOG]:
            S[C_WANTED] = 2 * (S[P[S_GLOG_LEN] + k] + events)
            return ROOM_GUARD_LOGS
    return 0


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _size_of_kept(P, S):  # type: ignore[no-untyped-def]
    """How many integers, numbers and extremes the state of a partition takes."""
    ints, values, extremes = 2, 0, 0
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        rows = P[P[U_NROWS] + u] * P[P[U_W] + u]
        values += rows * P[P[U_NC] + u]
        extremes += rows * P[P[U_NX] + u]
        ints += 5
        for g in range(P[P[U_G_P] + u], P[P[U_G_P] + u + 1]):
            ints += 2 + 2 * P[P[G_N] + g]
    return ints, values, extremes


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _save(P, S, v, x, ints, values, extremes, i, n, e):  # type: ignore[no-untyped-def]
    """Write the state of a partition, all units up to date, from three places on."""
    ints[i], ints[i + 1] = S[C_ACTIVE], S[C_STEPS]
    i += 2
    for k in range(S[C_ACTIVE]):
        u = S[P[S_ACTIVE] + k]
        rows = P[P[U_NROWS] + u] * P[P[U_W] + u]
        ints[i], ints[i + 1], ints[i + 2] = u, S[P[S_LO] + u], S[P[S_HI] + u]
        ints[i + 3], ints[i + 4] = S[P[S_TOUCHED] + u], S[P[S_DUE] + u]
        i += 5
        for g in range(P[P[U_G_P] + u], P[P[U_G_P] + u + 1]):
            ints[i], ints[i + 1] = S[P[S_G_DONE] + g], S[P[S_G_DONE_T] + g]
            i += 2
            for s in range(P[P[G_SBASE] + g], P[P[G_SBASE] + g] + P[P[G_N] + g]):
                ints[i], ints[i + 1] = S[P[S_G_L] + s], S[P[S_G_LT] + s]
                i += 2
        for c in range(rows * P[P[U_NC] + u]):
            numbers.copy(values, n + c, v, P[P[U_VBASE] + u] + c)
        n += rows * P[P[U_NC] + u]
        for c in range(rows * P[P[U_NX] + u]):
            extremes[e + c] = x[P[P[U_XBASE] + u] + c]
        e += rows * P[P[U_NX] + u]


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _load(P, S, v, x, zf, zs, ints, values, extremes, i, n, e):  # type: ignore[no-untyped-def]
    """Take up the state of a partition where `_save` has left it."""
    active = ints[i]
    S[C_STEPS] = ints[i + 1]
    i += 2
    for k in range(active):
        u = ints[i]
        S[P[S_LO] + u], S[P[S_HI] + u] = ints[i + 1], ints[i + 2]
        S[P[S_TOUCHED] + u], S[P[S_DUE] + u] = ints[i + 3], ints[i + 4]
        i += 5
        for g in range(P[P[U_G_P] + u], P[P[U_G_P] + u + 1]):
            S[P[S_G_DONE] + g], S[P[S_G_DONE_T] + g] = ints[i], ints[i + 1]
            i += 2
            for s in range(P[P[G_SBASE] + g], P[P[G_SBASE] + g] + P[P[G_N] + g]):
                S[P[S_G_L] + s], S[P[S_G_LT] + s] = ints[i], ints[i + 1]
                i += 2
        rows = P[P[U_NROWS] + u] * P[P[U_W] + u]
        for c in range(rows * P[P[U_NC] + u]):
            numbers.copy(v, P[P[U_VBASE] + u] + c, values, n + c)
        n += rows * P[P[U_NC] + u]
        for c in range(rows * P[P[U_NX] + u]):
            x[P[P[U_XBASE] + u] + c] = extremes[e + c]
        e += rows * P[P[U_NX] + u]
        S[P[S_WHERE] + u] = k
        S[P[S_ACTIVE] + k] = u
        S[P[S_SEEN] + u] = -1
        _stamp(P, S, zf, zs, u)
    S[C_ACTIVE] = active


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _longer(array, used, size):  # type: ignore[no-untyped-def]
    """A copy of the used part of an array with more room."""
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer


@njit(cache=True, nogil=True)  # type: ignore[misc]
def run(
    P_array,
    S_array,
    v_array,
    x_array,
    zf_array,
    zs_array,
    spos_array,
    sval_array,
    part_of_array,
    ts_of_array,
    tied_array,
    letter_array,
    letters_array,
    weights_array,
    extremes_array,
    prev_array,
    nxt_array,
    cols_array,
    parg_array,
    Lt_array,
    lg_array,
    lv_array,
    lx_array,
    gl_array,
    out_r_array,
    out_v_array,
    out_x_array,
    out_n_array,
    tv_array,
    tx_array,
    tc_array,
    is_float,
    until,
    ranges,
    kept_s,
    kept_v,
    kept_x,
    redo,
):  # type: ignore[no-untyped-def]
    """Work through a batch; returns the records, grown where needed, and how many are to redo.

    Args: see layout.py for P and S; `ranges` has a row for each partition: its number, its first
    event and the one after its last, and where its kept state begins in `kept_s`, `kept_v` and
    `kept_x` (-1: it has none). With `until` before the end of time the state of partitions that
    still have some is returned too, with a row of the same form for each.
    """
    P, S, letter = raw_pointer(P_array), raw_pointer(S_array), raw_pointer(letter_array)
    v, x = numbers.pointer(v_array), raw_pointer(x_array)
    zf, zs = raw_pointer(zf_array), raw_pointer(zs_array)
    out_n = raw_pointer(out_n_array)
    units = P[N_UNITS]
    S[C_WINDOWS] = 0
    for u in range(units):
        S[C_WINDOWS] += P[P[U_W] + u]
        S[P[S_WHERE] + u] = -1
        S[P[S_SEEN] + u] = -1
    S[C_ROOM] = out_r_array.shape[0] // 3
    S[C_SCRATCH], S[C_SCRATCH_X], S[C_PENDING], S[C_KEPT] = 256, 256, 64, 16
    scratch_array, scratch_x_array = numbers.room(v_array, 256), np.empty(256)
    kept_array, kept_x_array = numbers.room(v_array, 16), np.empty(16)
    pend_array, gops_array = np.empty(4 * 64, np.int64), np.empty(5 * 64, np.int64)
    met_array = np.empty(units, np.int64)
    err_array = np.zeros(1, np.int64)
    err = raw_pointer(err_array)
    stacks = P[P[ZX_P] + P[N_Z]]
    new_s = np.empty(1024, np.int64)
    new_v = numbers.room(v_array, 1024)
    new_x = np.empty(1024)
    new_ranges = np.empty((ranges.shape[0] if until < FAR else 0, 6), np.int64)
    n_s, n_v, n_x, n_kept = 0, 0, 0, 0
    redone = 0
    for r in range(ranges.shape[0]):
        part, i, end = ranges[r, 0], ranges[r, 1], ranges[r, 2]
        begun = out_n[0]
        err[0] = 0
        if stacks > 0 and S[C_STACK] < end - i:
            S[C_STACK] = 2 * (end - i)
            spos_array = np.empty(stacks * S[C_STACK], np.int64)
            sval_array = np.empty(stacks * S[C_STACK], np.float64)
        _begin(P, S, zf, zs)
        if ranges[r, 3] >= 0:
            _load(
                P,
                S,
                v,
                x,
                zf,
                zs,
                raw_pointer(kept_s),
                numbers.pointer(kept_v),
                raw_pointer(kept_x),
                ranges[r, 3],
                ranges[r, 4],
                ranges[r, 5],
            )
        if P[HAS_ALWAYS] == 1 and i < end:
            for u in range(units):
                if P[P[U_ALWAYS] + u] == 1 and S[P[S_WHERE] + u] < 0:
                    _activate(P, S, v, x, zf, zs, u, ts_of_array[i])
        short = -1
        while short != 0:
            i, short = _walk(
                P,
                S,
                v,
                x,
                zf,
                zs,
                raw_pointer(spos_array),
                raw_pointer(sval_array),
                raw_pointer(part_of_array),
                raw_pointer(ts_of_array),
                raw_pointer(tied_array),
                letter,
                raw_pointer(letters_array),
                raw_pointer(weights_array),
                raw_pointer(extremes_array),
                raw_pointer(prev_array),
                raw_pointer(nxt_array),
                raw_pointer(cols_array),
                raw_pointer(parg_array),
                raw_pointer(Lt_array),
                raw_pointer(lg_array),
                numbers.pointer(lv_array),
                raw_pointer(lx_array),
                raw_pointer(gl_array),
                raw_pointer(out_r_array),
                numbers.pointer(out_v_array),
                raw_pointer(out_x_array),
                out_n,
                numbers.pointer(tv_array),
                raw_pointer(tx_array),
                raw_pointer(tc_array),
                numbers.pointer(scratch_array),
                raw_pointer(scratch_x_array),
                numbers.pointer(kept_array),
                raw_pointer(kept_x_array),
                raw_pointer(pend_array),
                raw_pointer(met_array),
                raw_pointer(gops_array),
                is_float,
                part,
                i,
                end,
                until,
                err,
            )
            if short == ROOM_OUT:
                out_r_array, out_v_array, out_x_array = _more_room(
                    out_r_array, out_v_array, out_x_array, S[C_MOST], S[C_WINDOWS]
                )
                S[C_ROOM] = out_r_array.shape[0] // 3
            elif short == ROOM_SCRATCH:
                scratch_array = numbers.room(v_array, S[C_SCRATCH])
            elif short == ROOM_SCRATCH_X:
                scratch_x_array = np.empty(S[C_SCRATCH_X])
            elif short == ROOM_PENDING:
                pend_array = np.empty(4 * S[C_PENDING], np.int64)
                gops_array = np.empty(5 * S[C_PENDING], np.int64)
            elif short == ROOM_KEPT:
                kept_array = numbers.room(v_array, S[C_KEPT])
                kept_x_array = np.empty(S[C_KEPT])
            elif short == ROOM_LOGS:
                lg_array, lv_array, lx_array = _more_logs(
                    P, S, lg_array, lv_array, lx_array, S[C_LOGS], S[C_WANTED]
                )
            elif short == ROOM_GUARD_LOGS:
                gl_array = _more_guard_logs(P, S, gl_array, S[C_GUARD_LOGS], S[C_WANTED])
        if until < FAR and err[0] == 0 and S[C_ACTIVE] > 0:
            ints, values, extremes = _size_of_kept(P, S)
            if n_s + ints > new_s.shape[0]:
                new_s = _longer(new_s, n_s, 2 * (n_s + ints))
            if n_v + values > new_v.shape[0]:
                larger = numbers.room(v_array, 2 * (n_v + values))
                larger[:n_v] = new_v[:n_v]
                new_v = larger
            if n_x + extremes > new_x.shape[0]:
                new_x = _longer(new_x, n_x, 2 * (n_x + extremes))
            _save(
                P,
                S,
                v,
                x,
                raw_pointer(new_s),
                numbers.pointer(new_v),
                raw_pointer(new_x),
                n_s,
                n_v,
                n_x,
            )
            new_ranges[n_kept, 0] = part
            new_ranges[n_kept, 3] = n_s
            new_ranges[n_kept, 4] = n_v
            new_ranges[n_kept, 5] = n_x
            n_kept += 1
            n_s += ints
            n_v += values
            n_x += extremes
        for k in range(S[C_ACTIVE]):
            S[P[S_WHERE] + S[P[S_ACTIVE] + k]] = -1
            S[P[S_SEEN] + S[P[S_ACTIVE] + k]] = -1
        if err[0] != 0:
            out_n[0] = begun
            redo[redone] = part
            redone += 1
    kept = (new_ranges[:n_kept], new_s[:n_s], new_v[:n_v], new_x[:n_x])
    return out_r_array, out_v_array, out_x_array, redone, kept


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _has_lazy(Lt, let, z):  # type: ignore[no-untyped-def]
    for k in range(Lt[Lt[L_Z_P] + let], Lt[Lt[L_Z_P] + let + 1]):
        if Lt[Lt[L_Z] + k] == z:
            return True
    return False


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _multiplicity(letter, Lt, i0, i1, z):  # type: ignore[no-untyped-def]
    """How many events of a step an accumulator takes in."""
    m = 0
    for i in range(i0, i1):
        if _has_lazy(Lt, letter[i], z):
            m += 1
    return m


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _take_step(P, S, zf, zs, spos, sval, letter, weights, extremes, Lt, is_float, i0, i1):  # type: ignore[no-untyped-def]
    """Take the lazy events of one time into the accumulators."""
    for z in range(P[N_Z]):
        m = _multiplicity(letter, Lt, i0, i1, z)
        if m == 0:
            continue
        for i in range(i0, i1):
            if not _has_lazy(Lt, letter[i], z):
                continue
            for s in range(P[P[ZS_P] + z], P[P[ZS_P] + z + 1]):
                weight = P[P[ZS_WEIGHT] + s]
                if is_float:
                    value = 1.0 if weight < 0 else weights[(weight) * S[C_EVENTS] + i]
                    _add_sum(zs, s, value / (1.0 + m), True)
                else:
                    value = 1 if weight < 0 else weights[(weight) * S[C_EVENTS] + i]
                    _add_sum(zs, s, value, False)
            for s in range(P[P[ZX_P] + z], P[P[ZX_P] + z + 1]):
                attribute = P[P[ZX_ATTRIBUTE] + s]
                value = extremes[(attribute >> 1) * S[C_EVENTS] + i]
                if value == value:
                    signed = -value if attribute & 1 else value
                    _push(P, S, spos, sval, s, S[P[S_Z_EVENTS] + z], signed)
            S[P[S_Z_EVENTS] + z] += 1
        # In integers a step of several events has been applied to every active unit, which are
        # stamped right after this; what counts is that the number of steps has moved on.
        S[P[S_Z_N] + z] += 1
        if is_float:
            _multiply(zf, z, 1.0 + m)


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _more_room(out_r, out_v, out_x, most, windows):  # type: ignore[no-untyped-def]
    """Records with at least twice the room."""
    old = out_r.shape[0] // 3
    size = 2 * (old + windows)
    r = np.empty(size * 3, np.int64)
    r[: out_r.shape[0]] = out_r
    v = numbers.room(out_v, size * most)
    v[: out_v.shape[0]] = out_v
    x = np.empty(out_x.shape[0] // old * size, np.float64)
    x[: out_x.shape[0]] = out_x
    return r, v, x


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _more_guard_logs(P, S, gl, logs, size):  # type: ignore[no-untyped-def]
    larger = np.empty(3 * logs * size, np.int64)
    old = S[C_GLOG]
    for log in range(logs):
        n = 3 * S[P[S_GLOG_LEN] + log]
        larger[3 * log * size : 3 * log * size + n] = gl[3 * log * old : 3 * log * old + n]
    S[C_GLOG] = size
    return larger


@njit(cache=True, nogil=True)  # type: ignore[misc]
def _more_logs(P, S, lg, lv, lx, n, needed):  # type: ignore[no-untyped-def]
    """Logs without their dead events, and with room for more."""
    old = S[C_LOG]
    fullest = 0
    for log in range(n):
        fullest = max(fullest, S[P[S_LOG_LEN] + log] - S[P[S_LOG_HEAD] + log])
    size = max(2 * (fullest + needed), 64)
    larger = np.empty(3 * n * size, np.int64)
    v = numbers.room(lv, lv.shape[0] // old * size)
    x = np.empty(lx.shape[0] // old * size, np.float64)
    for log in range(n):
        u = P[P[LOG_UNIT] + log]
        wide = P[P[U_W] + u] * P[P[U_NC] + u]
        wide_x = P[P[U_W] + u] * P[P[U_NX] + u]
        head = S[P[S_LOG_HEAD] + log]
        kept = S[P[S_LOG_LEN] + log] - head
        a, b = 3 * log * size, 3 * (log * old + head)
        larger[a : a + 3 * kept] = lg[b : b + 3 * kept]
        a, b = P[P[LOG_VBASE] + log] * size, P[P[LOG_VBASE] + log] * old + head * wide
        v[a : a + kept * wide] = lv[b : b + kept * wide]
        a, b = P[P[LOG_XBASE] + log] * size, P[P[LOG_XBASE] + log] * old + head * wide_x
        x[a : a + kept * wide_x] = lx[b : b + kept * wide_x]
        S[P[S_LOG_HEAD] + log] = 0
        S[P[S_LOG_LEN] + log] = kept
    S[C_LOG] = size
    return larger, v, x
