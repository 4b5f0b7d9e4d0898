"""Doubles with an exponent of their own: sums and products that keep mantissas in range."""

from __future__ import annotations

from hamlet.kernel.jit import compiled, inlined
from hamlet.kernel.numbers.kinds import BASE, HIGH, INVERSE, LOW


@inlined
def add_wide(v, d, m, e):
    """v[d] += m * 2**(512 e); of two numbers 2^512 or more apart the smaller is lost."""
    if m == 0.0:
        return
    a = v[0][d * v[1] + 0]
    if a == 0.0:
        v[0][d * v[1] + 0] = m
        v[0][d * v[1] + 1] = e
        a = m
    else:
        gap = v[0][d * v[1] + 1] - e
        if gap == 0.0:
            a += m
        elif gap > 0.0:
            if gap == 1.0:
                a += m * INVERSE
        else:
            a = m + (a * INVERSE if gap == -1.0 else 0.0)
            v[0][d * v[1] + 1] = e
        v[0][d * v[1] + 0] = a
    size = abs(a)
    if size >= HIGH:
        v[0][d * v[1] + 0] = a * INVERSE
        v[0][d * v[1] + 1] += 1.0
    elif size < LOW:
        if size == 0.0:
            v[0][d * v[1] + 1] = 0.0
        else:
            v[0][d * v[1] + 0] = a * BASE
            v[0][d * v[1] + 1] -= 1.0


@compiled
def add_wide_product(v, d, m, e, f, g):
    """v[d] += (m * 2**(512 e)) * (f * 2**(512 g)) where f may be any double."""
    size = abs(f)
    if size >= HIGH:
        f *= INVERSE
        g += 1.0
    elif size < LOW and size != 0.0:
        f *= BASE
        g -= 1.0
    p = m * f
    size = abs(p)
    e += g
    if size >= HIGH:
        p *= INVERSE
        e += 1.0
    elif size < LOW and size != 0.0:
        p *= BASE
        e -= 1.0
    add_wide(v, d, p, e)


@inlined
def grow_wide(v, d, s, am, ae):
    """v[d] = A * v[d] + (A - 1) * v[s]; the latter only where it is not far below the former."""
    m, e = v[0][2 * d], v[0][2 * d + 1]
    if m != 0.0:
        product = m * am
        is_high = abs(product) >= HIGH
        v[0][2 * d] = product * INVERSE if is_high else product
        v[0][2 * d + 1] = e + ae + (1.0 if is_high else 0.0)
    if s >= 0 and v[0][2 * s] != 0.0 and (m == 0.0 or e - v[0][2 * s + 1] <= 1.0):
        growth = am - 1.0 if ae == 0.0 else am
        add_wide_product(v, d, v[0][2 * s], v[0][2 * s + 1], growth, ae)
