"""``spread`` as one of two processes: HOST:PORT, which of them, and the cases."""

import sys

import jax


def main(place: str, rank: str, *cases: str) -> None:
    jax.distributed.initialize(place, 2, int(rank))
    # Imported late: blackjax computes when it is imported, which must come after.
    from .spread import main

    main(list(cases), "all")


if __name__ == "__main__":
    main(*sys.argv[1:])
