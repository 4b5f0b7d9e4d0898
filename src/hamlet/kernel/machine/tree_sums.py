"""Trees: sums over all stored events whose key is in a range, in logarithmic time.

A tree has a leaf for each event of one block of time, in the order of one side of an edge
predicate (trees.py has found the places), and each inner node has the sum of its two children.
Node 1 is the root, node n has children 2n and 2n + 1, and leaf k of a tree of height h is node
2^h + k. Blocks are as long as the window, so what matters to an event is in its own block or in
the one before: each tree has two halves, one for each.

Cost: O(windows x log(events of a block)) for each event that is added or asks.
"""

from __future__ import annotations

import numpy as np

from hamlet.kernel import layout as at
from hamlet.kernel import numbers
from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.machine.memory import EMPTY, entries, shape
from hamlet.kernel.machine.rows import Row, add_row, empty_row
from hamlet.kernel.trees import FIELDS

# More than the number of leaves of any tree
_ALL = 1 << 40


@compiled
def begin_trees(P, S, u, ts):
    """Empty all trees of a unit, and have them stand at the block of a time."""
    S[P[at.S_BLOCK] + u] = ts // P[P[at.U_WITHIN] + u]
    for t in entries(P, at.U_TREE_P, u):
        _empty(P, S, t)


@compiled
def empty_trees(P, S, g):
    """Empty the trees whose events the completion of a guard has barred."""
    for k in entries(P, at.G_TREE_P, g):
        _empty(P, S, P[P[at.G_TREE] + k])


@compiled
def _empty(P, S, t):
    S[P[at.S_T_BITS] + 2 * t] = EMPTY
    S[P[at.S_T_BITS] + 2 * t + 1] = EMPTY


@compiled
def turn_block(P, S, u, ts):
    """Have the trees of a unit stand at the block of a time."""
    block = ts // P[P[at.U_WITHIN] + u]
    ahead = block - S[P[at.S_BLOCK] + u]
    if ahead == 0:
        return
    flip = 1 - S[P[at.S_FLIP] + u]
    S[P[at.S_BLOCK] + u] = block
    S[P[at.S_FLIP] + u] = flip
    for t in entries(P, at.U_TREE_P, u):
        S[P[at.S_T_BITS] + 2 * t + flip] = EMPTY
        if ahead > 1:
            S[P[at.S_T_BITS] + 2 * t + 1 - flip] = EMPTY


@compiled
def read_tree(m, stored, t, i, total):
    """Add up the events of a tree from which the edge to event i is open."""
    P, S = m.P, m.S
    u, op = P[P[at.T_UNIT] + t], P[P[at.T_OP] + t]
    entry = (P[P[at.T_CLASS] + t] * S[at.C_EVENTS] + i) * FIELDS
    for age in range(2):
        half = S[P[at.S_FLIP] + u] if age == 0 else 1 - S[P[at.S_FLIP] + u]
        if S[P[at.S_T_BITS] + 2 * t + half] == EMPTY:
            continue
        below, upto = stored.places[entry + 2 + 2 * age], stored.places[entry + 3 + 2 * age]
        if below < 0:
            continue
        if op == 0:  # f(previous) < g(next): the keys below g
            low, high = 0, below
        elif op == 1:
            low, high = 0, upto
        elif op == 2:
            low, high = upto, _ALL
        elif op == 3:
            low, high = below, _ALL
        elif op == 4:
            low, high = below, upto
        else:
            low, high = 0, below
            _add_range(m, stored, t, half, upto, _ALL, total)
        _add_range(m, stored, t, half, low, high, total)


@inlined
def _node(P, stored, t, half, node, like):
    """A node of one half of a tree, as a row of the same shape as another."""
    number = half * (2 << P[P[at.T_BITS] + t]) + node
    first = P[P[at.T_VBASE] + t] + number * like.size
    first_x = P[P[at.T_XBASE] + t] + number * like.size_x
    return Row(stored.tree_v, stored.tree_x, first, first_x, like.size, like.size_x)


@compiled
def _add_range(m, stored, t, half, low, high, total):
    """Add up the leaves from low to high, exclusive, of one half of a tree."""
    n = 1 << m.S[m.P[at.S_T_BITS] + 2 * t + half]
    left, right = low + n, min(high, n) + n
    while left < right:
        if left & 1:
            add_row(total, _node(m.P, stored, t, half, left, total), m.err)
            left += 1
        if right & 1:
            right -= 1
            add_row(total, _node(m.P, stored, t, half, right, total), m.err)
        left >>= 1
        right >>= 1


@compiled
def add_leaf(m, stored, t, i, value):
    """Make event i a leaf of the current half of a tree, and add it to all nodes above."""
    P, S = m.P, m.S
    entry = (P[P[at.T_CLASS] + t] * S[at.C_EVENTS] + i) * FIELDS
    leaf = stored.places[entry]
    if leaf < 0:
        return
    half = S[P[at.S_FLIP] + P[P[at.T_UNIT] + t]]
    bits_at = P[at.S_T_BITS] + 2 * t + half
    if S[bits_at] == EMPTY:
        S[bits_at] = stored.places[entry + 1]
        for node in range(2 << S[bits_at]):
            empty_row(_node(P, stored, t, half, node, value))
    node = leaf + (1 << S[bits_at])
    while node > 0:
        add_row(_node(P, stored, t, half, node, value), value, m.err)
        node >>= 1


@compiled
def clear_in_trees(P, S, stored, u, slot):
    """Empty a window in all trees of a unit."""
    w, nc, nx = shape(P, u)
    for t in entries(P, at.U_TREE_P, u):
        for half in range(2):
            bits = S[P[at.S_T_BITS] + 2 * t + half]
            if bits == EMPTY:
                continue
            nodes = half * (2 << P[P[at.T_BITS] + t])
            base = P[P[at.T_VBASE] + t] + (nodes * w + slot) * nc
            base_x = P[P[at.T_XBASE] + t] + (nodes * w + slot) * nx
            for node in range(2 << bits):
                for c in range(nc):
                    numbers.set_zero(stored.tree_v, base + node * w * nc + c)
                for e in range(nx):
                    stored.tree_x[base_x + node * w * nx + e] = np.inf
