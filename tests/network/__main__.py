"""`python -m tests.network demo | up`."""

import argparse
import signal
import sys
from types import FrameType

from tests.network.demo import demo
from tests.network.errors import NetworkError
from tests.network.up import up


def main() -> int:
    """0 when all went well, 1 with a sentence when not, 130 when interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.network", description=__doc__)
    parser.add_argument("what", choices=("demo", "up"))
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _interrupt)
    signal.signal(signal.SIGHUP, _interrupt)
    try:
        return demo() if options.what == "demo" else up()
    except NetworkError as error:
        print(f"The network failed: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Interrupted; everything is stopped.", file=sys.stderr)
        return 130


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
