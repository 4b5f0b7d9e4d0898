"""`hamlet bench`: measure, and compare what was measured."""

from __future__ import annotations

import click

from hamlet.cli.bench.compare_command import compare_command
from hamlet.cli.bench.engine_command import engine_command
from hamlet.cli.bench.paper_command import paper_command
from hamlet.cli.bench.peers_command import peers_command
from hamlet.cli.bench.real_command import real_command
from hamlet.cli.bench.scale_command import scale_command
from hamlet.cli.bench.sharing_command import sharing_command
from hamlet.cli.bench.spark_command import spark_command

bench_command = click.Group(
    "bench",
    commands=[
        engine_command,
        spark_command,
        sharing_command,
        paper_command,
        peers_command,
        real_command,
        scale_command,
        compare_command,
    ],
    help="Measure how fast Hamlet is, against the floors that it has to keep.",
)
