"""Partial answers added up, in any order and any number of steps.

Rows are grouped with compiled counting sorts and added up in whole columns; nothing is done in
Python for each row, however long its numbers are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from pyarrow import compute as pc

from hamlet.kernel.encode.sorting import dense_codes, sort_by_code
from hamlet.kernel.finish.packed import PACKED, Packed
from hamlet.kernel.finish.partial_columns import SUM, WIDE, array_of, conformed
from hamlet.kernel.finish.wides import Wides

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    Longs = NDArray[np.int64]
    Rows = NDArray[np.int32]


def merged(tables: Iterable[pa.Table]) -> pa.Table:
    """Partial answers of one schema added up: one row for each query, role, window and group.

    Law: any order of tables, in any number of steps, gives equal rows, to the last bit in exact
    mode; in which order they stand is not promised.

    Args:
        tables: One or more; text and bytes may have come back with 32-bit offsets.
    """
    table = pa.concat_tables(
        [conformed(table_of_task) for table_of_task in tables]
    ).combine_chunks()
    order, starts = _rows_of_one_name(table)
    if len(starts) == table.num_rows:
        return table
    first = pa.array(order[starts])
    columns = []
    for field in table.schema:
        if field.type == SUM:
            columns.append(_added_sums(array_of(table, field.name), order, starts))
        elif field.type == WIDE:
            columns.append(_added_wides(array_of(table, field.name), order, starts))
        elif field.type == PACKED:
            columns.append(_added_integers(array_of(table, field.name), order, starts))
        elif field.name.startswith(("min_", "max_")):
            pick = np.fmin if field.name.startswith("min_") else np.fmax
            columns.append(_extremes(pick, array_of(table, field.name), order, starts))
        else:
            columns.append(table.column(field.name).take(first))
    return pa.Table.from_arrays(columns, schema=table.schema)


def _rows_of_one_name(table: pa.Table) -> tuple[Rows, Longs]:
    """Rows, those that belong together side by side, and where each lot begins."""
    query, role, window = (array_of(table, name).to_numpy() for name in ("query", "role", "window"))
    group = array_of(table, "group").dictionary_encode().indices.to_numpy()
    codes, first = dense_codes(query.astype(np.int64) * 4 + role)
    for part in (dense_codes(window)[0], group):
        width = int(part.max(initial=0)) + 1
        codes, first = dense_codes(codes.astype(np.int64) * width + part)
    order, starts = sort_by_code(codes, len(first))
    return order, starts[:-1]


def _extremes(pick: np.ufunc, column: Any, order: Rows, starts: Longs) -> Any:
    values = column.to_numpy(zero_copy_only=False)[order]  # NaN for null
    return pa.array(pick.reduceat(values, starts), pa.float64(), from_pandas=True)


def _where_not_null(column: Any, order: Rows, starts: Longs, arrays: list[Any]) -> Any:
    """A column of structs, null where the first row of each lot is: one query has it or not."""
    is_null = column.is_null().to_numpy(zero_copy_only=False)[order[starts]]
    return pa.StructArray.from_arrays(arrays, fields=list(column.type), mask=pa.array(is_null))


def _added_wides(column: Any, order: Rows, starts: Longs) -> Any:
    mantissa, exponent = (column.field(name).fill_null(0).to_numpy() for name in column.type.names)
    total = Wides(mantissa[order], exponent[order]).added_up(starts)
    arrays = [pa.array(total.mantissa), pa.array(total.exponent)]
    return _where_not_null(column, order, starts, arrays)


def _added_integers(column: Any, order: Rows, starts: Longs) -> Any:
    shifts = np.zeros(len(order), np.int64)
    total = Packed.of_arrow(column).added_up(order, starts, shifts).to_arrow()
    if not column.null_count:
        return total
    is_null = column.is_null().to_numpy(zero_copy_only=False)[order[starts]]
    return pc.if_else(pa.array(is_null), pa.scalar(None, PACKED), total)


def _added_sums(column: Any, order: Rows, starts: Longs) -> Any:
    exponent = column.field("exponent").fill_null(0).to_numpy()[order]
    is_whole = column.field("is_whole").fill_null(True).to_numpy(zero_copy_only=False)[order]
    least = np.minimum.reduceat(exponent, starts)
    lengths = np.diff(starts, append=len(order))
    shifts = exponent.astype(np.int64) - np.repeat(least, lengths)
    total = Packed.of_arrow(column.field("integer")).added_up(order, starts, shifts)
    is_all_whole = np.logical_and.reduceat(is_whole, starts)
    arrays = [total.to_arrow(), pa.array(least), pa.array(is_all_whole)]
    return _where_not_null(column, order, starts, arrays)
