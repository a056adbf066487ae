"""Starts a whole network on this machine: for the demo, or left running."""

import argparse
import signal
import sys
from types import FrameType

from tests.network.demo import demo
from tests.network.errors import NetworkError
from tests.network.up import up

STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def main() -> int:
    """0 when all went well, 1 with a sentence when not, 130 when interrupted."""
    for number in STOP_SIGNALS:
        signal.signal(number, _interrupt)
    try:
        return _run()
    except KeyboardInterrupt:
        print("Interrupted; everything is stopped.", file=sys.stderr)
        return 130


def _run() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.network", description=__doc__)
    parser.add_argument("what", choices=("demo", "up"))
    options = parser.parse_args()
    try:
        return demo() if options.what == "demo" else up()
    except NetworkError as error:
        print(f"The network failed: {error}", file=sys.stderr)
        return 1


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    """Once: what stops the network must not be interrupted. tools/guard.py knows impatience."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
