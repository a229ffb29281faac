"""Bytes that devices exchange in a sweep, counted in the compiled program.

Needs several devices; a CPU can be split: XLA_FLAGS=--xla_force_host_platform_device_count=4.
"""

import re
from collections import defaultdict

BYTES = {"pred": 1, "s32": 4, "u32": 4, "f32": 4, "s64": 8, "u64": 8, "f64": 8}
KINDS = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
EXCHANGE = re.compile(rf"= (.+?) ({KINDS})(?:-start)?\(")
CALL = re.compile(r"(?:body|condition|to_apply|calls)=%?([\w.\-]+)")
TRIPS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')


def size_of(shapes: str) -> int:
    """Bytes of the shapes in a piece of HLO text."""
    total = 0
    for kind, dims in re.findall(r"\b([a-z]+\d*)\[([\d,]*)\]", shapes):
        count = 1
        for dim in filter(None, dims.split(",")):
            count *= int(dim)
        total += BYTES[kind] * count
    return total


def exchanged(hlo: str) -> list[tuple[str, str, int, int]]:
    """(kind, shapes, bytes, times a sweep) of every exchange within the loop over sweeps.

    Loops of known length count that often, others once.  What stands outside all loops is done
    once a call, and is left out.
    """
    inside, calls = defaultdict(list), defaultdict(list)
    current = ""
    for line in hlo.splitlines():
        if opened := COMPUTATION.match(line.strip()):
            current = opened[1]
        elif found := EXCHANGE.search(line):
            inside[current].append((found[2], found[1], size_of(found[1])))
        if " while(" in line or " call(" in line or " conditional(" in line:
            trips = TRIPS.search(line)
            for name in CALL.findall(line):
                calls[current].append((name, int(trips[1]) if trips else 1, " while(" in line))
    entry = re.search(r"^ENTRY %?([\w.\-]+)", hlo, re.MULTILINE)
    assert entry is not None
    return list(_walk(entry[1], 1, False, inside, calls))


def _walk(name, times, looping, inside, calls):
    if looping:
        for kind, shapes, size in inside[name]:
            yield kind, shapes, size, times
    for callee, trips, loop in calls[name]:
        yield from _walk(callee, times * trips, looping or loop, inside, calls)
