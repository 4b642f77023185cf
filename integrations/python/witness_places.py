"""Which elements of an output stand in its witness, besides the worst one?

They follow from the plan's seed, the process, the shape and the name of the launch tile, by integers alone. Draws come from
SplitMix64 (`rigel_inputs`): number `index` of stream `key` is mix(key + (index + 1) * G), and one below `bound` is the upper 64 bits of its
product with `bound`.
"""

import re

from rigel_inputs import below, stream

STREAM = 0x7769746E
# Climbs and pilots are alone in their process and draw under this index.
SOLO, LEFT_OUT = (1 << 32) - 1, "!"
RANDOM, EDGES, TILE = 16, 4, (64, 64)
NAMED = re.compile("mc([0-9]{1,7})kc[0-9]{1,7}nc([0-9]{1,7})|([0-9]{1,7})x([0-9]{1,7})(?![0-9]).*", re.DOTALL)


def tile_of(name):
    """Rows and columns of a launch tile by its name."""
    match = NAMED.fullmatch(name)
    return (int(match[1] or match[3]), int(match[2] or match[4])) if match else TILE


def places(m, n, tile, seed):
    """Corners, both sides of four edges of launch tiles, 16 drawn ones; all of at most 16."""
    if m * n <= RANDOM:
        return {(row, column) for row in range(m) for column in range(n)}
    found, key = {(0, 0), (0, n - 1), (m - 1, 0), (m - 1, n - 1)}, stream(seed, STREAM)

    def near_edge(index, extent, step):
        edges = (extent - 1) // max(step, 1)
        behind = (1 + below(key, index, edges)) * max(step, 1) if edges else extent // 2
        return max(behind - below(key, index + 1, 2), 0)

    for edge in range(EDGES):
        found.add((near_edge(4 * edge, m, tile[0]), near_edge(4 * edge + 2, n, tile[1])))
    index, wanted = 100, len(found) + min(RANDOM, m * n - len(found))
    while len(found) < wanted:
        found.add((below(key, index, m), below(key, index + 1, n)))
        index += 2
    return found


def places_of(cell):
    """Those of a gated product."""
    if cell.work == "version":
        return {(row, column) for row in range(cell.extents[0]) for column in range(cell.extents[1])}
    # All processes look at the same elements of an attention, each of which costs as much as a row.
    alone = cell.work == "rung" or cell.work.endswith("-attention") or cell.block.endswith(LEFT_OUT)
    return places(*cell.extents[:2], tile_of(cell.tile), stream(cell.seed, SOLO if alone else cell.process))


def stray(cell, errors):
    """Whether the only element besides the prescribed ones is none of them and not the worst, by their exact errors. The gate
    found the worst one by a float64 reference, which is good to 2^-37 of the sum of |a*b|.
    """
    wanted = places_of(cell)
    others = [error for place, error in errors.items() if place not in wanted]
    known = max((errors[place] for place in wanted), default=0.0)
    return bool(others) and max(others) < 0.999 * known - 2.0 ** -36


def fault(cell, witness, whole):
    """What keeps a witness from being the one that the seed prescribes, or None; `whole`: every element was checked."""
    wanted = places_of(cell)
    there = {(row, column) for row, column, _ in witness}
    for row, column in sorted(wanted - there):
        return f"witness.csv lacks element ({row}, {column}) of it, which the seed prescribes"
    others, most = sorted(there - wanted), 1 if whole else 3
    if len(others) > most:
        row, column = others[0]
        return (f"witness.csv holds element ({row}, {column}) of it and {len(others) - 1} more besides those that the seed "
                f"prescribes; the gate looks at {most} at most")
    return None
