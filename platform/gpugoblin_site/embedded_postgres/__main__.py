"""`python -m gpugoblin_site.embedded_postgres --data DIR`: one server in the foreground.

Prints one line of JSON, `{"url": ...}`, when it answers. SIGTERM and Ctrl-C stop it; whatever ends
this process ends the server too.
"""

import argparse
import json
import signal
import sys
import threading
import time
from pathlib import Path
from types import FrameType

from .errors import EmbeddedPostgresError
from .server import EmbeddedPostgres
from .sharing import default_data_dir, wait_until_unused


def main(arguments: list[str] | None = None) -> int:
    """Run until told to stop (0), the server dies, or it does not start (1)."""
    options = _parse(arguments)
    stop = threading.Event()

    def on_signal(_number: int, _frame: FrameType | None) -> None:
        stop.set()

    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, on_signal)
    server = EmbeddedPostgres(options.data, port=options.port, durable=not options.not_durable)
    try:
        url = server.start()
    except EmbeddedPostgresError as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
        return 1
    print(json.dumps({"url": url}), flush=True)
    if options.while_used:
        threading.Thread(
            target=_stop_when_unused, args=(server.data_dir, stop), daemon=True
        ).start()
    while not stop.is_set() and server.alive():
        # Not stop.wait(): a signal must be noticed at once and the server's death soon.
        time.sleep(0.1)
    died = not stop.is_set()
    server.stop()
    return 1 if died else 0


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="embedded_postgres", description=__doc__)
    parser.add_argument("--data", type=Path, default=default_data_dir(), help="data folder")
    parser.add_argument("--port", type=int, default=0, help="TCP port on 127.0.0.1 (default: free)")
    parser.add_argument("--while-used", action="store_true", help="stop when nobody uses it")
    parser.add_argument("--not-durable", action="store_true", help="for tests: no fsync")
    return parser.parse_args(arguments)


def _stop_when_unused(folder: Path, stop: threading.Event) -> None:
    wait_until_unused(folder)
    stop.set()


if __name__ == "__main__":
    sys.exit(main())
