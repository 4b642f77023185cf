"""What is the BLAKE3 digest of a file, or of many short texts?

Written from the algorithm's specification (O'Connor, Aumasson, Neves, Wilcox-O'Hearn: BLAKE3, one function, fast
everywhere, 2020): default hashing, 256 bits. Chunks are independent of each other, so up to 1024 of them are compressed
at once: each of the 16 state words of all chunks is one Python integer with 64 bits a chunk, the upper 32 for carries.
"""

import sys
from array import array

START, END, PARENT, ROOT = 1, 2, 4, 8
IV = (0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19)
ORDER = (2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8)
QUARTERS = ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15),
            (0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14))
CHUNK, LANES = 1024, 1024
FOUR = next(code for code in "IL" if array(code).itemsize == 4)


def schedules():
    order = list(range(16))
    for _ in range(7):
        yield tuple(order)
        order = [order[i] for i in ORDER]


SCHEDULES = tuple(schedules())


def lanes(values):
    """Values below 2^32, one in each 64 bits of an integer, the first in the lowest."""
    packed = array("Q", values)
    if sys.byteorder == "big":
        packed.byteswap()
    return int.from_bytes(packed.tobytes(), "little")


def words(data):
    """The little-endian 32-bit words of some bytes."""
    packed = array(FOUR)
    packed.frombytes(data)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed


def compress(chaining, message, counters, lengths, flags, count):
    """The next chaining values (8 integers of lanes) of `count` blocks."""
    ones = lanes([1] * count)
    mask = ones * 0xFFFFFFFF
    v = list(chaining) + [ones * word for word in IV[:4]]
    v += [lanes([c & 0xFFFFFFFF for c in counters]), lanes([c >> 32 for c in counters]), lanes(lengths), lanes(flags)]
    for schedule in SCHEDULES:
        for quarter, (i, j, k, l) in enumerate(QUARTERS):
            a, b, c, d = v[i], v[j], v[k], v[l]
            a = (a + b + message[schedule[2 * quarter]]) & mask
            d ^= a
            d = (d >> 16 | d << 16) & mask
            c = (c + d) & mask
            b ^= c
            b = (b >> 12 | b << 20) & mask
            a = (a + b + message[schedule[2 * quarter + 1]]) & mask
            d ^= a
            d = (d >> 8 | d << 24) & mask
            c = (c + d) & mask
            b ^= c
            v[i], v[j], v[k], v[l] = a, (b >> 7 | b << 25) & mask, c, d
    return [v[i] ^ v[i + 8] for i in range(8)]


def outputs(chaining, first, count):
    """The chaining values of lanes `first` to `count` as 32 bytes each."""
    columns = []
    for value in chaining:
        column = array("Q")
        column.frombytes((value >> 64 * first).to_bytes(8 * (count - first), "little"))
        if sys.byteorder == "big":
            column.byteswap()
        columns.append(column)
    return [b"".join(word.to_bytes(4, "little") for word in words) for words in zip(*columns)]


def batches(items):
    return (items[i:i + LANES] for i in range(0, len(items), LANES))


def of_chunks(chunks):
    """The chaining value of each (bytes, counter, is the root)."""
    blocks = [max(1, -(-len(data) // 64)) for data, _, _ in chunks]
    order = sorted(range(len(chunks)), key=lambda i: -blocks[i])
    found = [b""] * len(chunks)
    for batch in batches(order):
        data = words(b"".join(bytes(chunks[i][0]).ljust(CHUNK, b"\0") for i in batch))
        live, chaining = len(batch), [lanes([word] * len(batch)) for word in IV]
        for block in range(blocks[batch[0]]):
            lengths = [min(64, len(chunks[i][0]) - 64 * block) for i in batch[:live]]
            flags = [(block == 0) * START | (block + 1 == blocks[i]) * (END | chunks[i][2] * ROOT)
                     for i in batch[:live]]
            message = [lanes(data[16 * block + w:256 * live:256]) for w in range(16)]
            counters = [chunks[i][1] for i in batch[:live]]
            chaining = compress(chaining, message, counters, lengths, flags, live)
            going_on = live
            while going_on and blocks[batch[going_on - 1]] == block + 1:
                going_on -= 1
            for i, value in zip(batch[going_on:live], outputs(chaining, going_on, live)):
                found[i] = value
            chaining = [value & (1 << 64 * going_on) - 1 for value in chaining]
            live = going_on
    return found


def of_parents(pairs):
    """The chaining value of each (two chaining values as 64 bytes, is the root)."""
    found = []
    for batch in batches(pairs):
        data, count = words(b"".join(pair for pair, _ in batch)), len(batch)
        message = [lanes(data[w::16]) for w in range(16)]
        flags = [PARENT | root * ROOT for _, root in batch]
        chaining = compress([lanes([word] * count) for word in IV], message, [0] * count, [64] * count, flags, count)
        found += outputs(chaining, 0, count)
    return found


def joined(trees, root):
    """The value on top of each list of neighbouring chaining values; `root` says whether that is the digest."""
    trees = [list(tree) for tree in trees]
    while True:
        growing = [tree for tree in trees if len(tree) > 1]
        if not growing:
            return [tree[0] for tree in trees]
        pairs = [(tree[i] + tree[i + 1], root and len(tree) == 2)
                 for tree in growing for i in range(0, len(tree) - 1, 2)]
        parents = iter(of_parents(pairs))
        for tree in growing:
            tree[:] = [next(parents) for _ in range(len(tree) // 2)] + tree[len(tree) & ~1:]


def chunks_of(data, first, alone):
    view = memoryview(data)
    whole = len(data) <= CHUNK and alone
    return [(view[at:at + CHUNK], first + at // CHUNK, whole) for at in range(0, max(1, len(data)), CHUNK)]


def hash_many(messages):
    """The digests (hex) of many texts that fit in memory together."""
    parts = [chunks_of(message, 0, True) for message in messages]
    values = iter(of_chunks([chunk for part in parts for chunk in part]))
    return [digest.hex() for digest in joined([[next(values) for _ in part] for part in parts], True)]


class Hasher:
    """The digest of bytes that come in pieces; holds 1 MiB of them, and 32 bytes for each MiB before."""

    def __init__(self):
        self.rest, self.subtrees = bytearray(), []

    def update(self, data):
        self.rest += data
        size = CHUNK * LANES
        at = 0
        while len(self.rest) - at > size:
            # More follows, so these 1024 chunks are a whole subtree and not the root.
            whole = chunks_of(bytes(memoryview(self.rest)[at:at + size]), len(self.subtrees) * LANES, False)
            self.subtrees += joined([of_chunks(whole)], False)
            at += size
        if at:
            self.rest = self.rest[at:]

    def hexdigest(self):
        if not self.subtrees:
            return hash_many([bytes(self.rest)])[0]
        last = joined([of_chunks(chunks_of(bytes(self.rest), len(self.subtrees) * LANES, False))], False)
        return joined([self.subtrees + last], True)[0].hex()
