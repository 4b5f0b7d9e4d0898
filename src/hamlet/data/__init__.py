"""Events to try things with: seeded streams, readers of real data, and workloads for both.

Importing this does not load Arrow: it is imported when events are made or read.
"""

from hamlet.data.real import read_real
from hamlet.data.settings import RideSharing, SmartHome, Stock, StreamSettings, Taxi
from hamlet.data.streams import generate, generate_table, schema_of

__all__ = [
    "RideSharing",
    "SmartHome",
    "Stock",
    "StreamSettings",
    "Taxi",
    "generate",
    "generate_table",
    "read_real",
    "schema_of",
]
