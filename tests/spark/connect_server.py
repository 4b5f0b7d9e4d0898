"""A server of Spark Connect for tests: says its port, and ends when its standard input does."""

from __future__ import annotations

import socket
import sys

from hamlet.spark.session import QUICK_WORKERS, start

SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}


def main() -> None:
    """Serve until nobody listens any more."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    own = {"spark.local.dir": sys.argv[1], "spark.connect.grpc.binding.port": port}
    session = start("local[2]", settings=SETTINGS | QUICK_WORKERS | own, quiet=True)
    print(port, flush=True)
    sys.stdin.read()
    session.stop()


if __name__ == "__main__":
    main()
