"""`python -m goblin_client.compute PARENT DEVICE MEMORY THREADS`, started by the supervisor."""

import sys

from goblin_client.compute.lifeline import die_with


def main() -> None:
    parent, device, memory, threads = sys.argv[1:5]
    die_with(int(parent))
    # Only now, since loading numpy takes a while and the parent may die meanwhile.
    from goblin_client.compute.worker import serve

    serve(device, int(memory), int(threads))


if __name__ == "__main__":
    main()
