"""What may lie in a run directory, and which rows do its files hold?

Everything is read as a stream with a longest line, so that memory does not grow with a file. The first line that no run
may hold raises a `Fault` that names file and line.
"""

import os
import re
import stat

from blake3 import Hasher

RECORD = ("plan.toml", "run.json", "cells.csv", "samples.csv", "witness.csv", "facts.csv", "power.csv")
FOLDERS = {"layouts": (".csv", ".json"), "models": (".json",), "conversions": (".json",), "orders": (".json",),
           "runs": (".json",)}
# Drawn from a run or written about it; no part of its record.
ABOUT = ("report.html", "README.md", "figures", ".lock")
TEXT_LIMIT, LINE_LIMIT, ENTRY_LIMIT = 16 << 20, 4 << 20, 100_000
DIGEST = re.compile("[0-9a-f]{64}")
COUNT = re.compile("0|[1-9][0-9]{0,18}")


class Fault(Exception):
    """One thing that does not agree: where and what."""

    def __init__(self, path, line, what):
        super().__init__(f"{path}:{line}: {what}" if line else f"{path}: {what}")
        self.line = line or 0


class NotARun(Exception):
    """There is nothing to verify."""


def entries(folder):
    """(name, is a folder) of each entry, sorted; links and special files are refused."""
    found = []
    with os.scandir(folder) as listing:
        for entry in listing:
            if entry.is_symlink():
                raise Fault(entry.path, None, "is a link; a run holds files only")
            if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
                raise Fault(entry.path, None, "is neither a file nor a folder")
            found.append((entry.name, entry.is_dir(follow_symlinks=False)))
            if len(found) > ENTRY_LIMIT:
                raise Fault(folder, None, f"holds more than {ENTRY_LIMIT} files")
    return sorted(found)


def listing(directory):
    """(files of the record, entries that belong to no run, whether MANIFEST is there)."""
    if not os.path.isdir(directory):
        raise NotARun(f"{directory}: is no directory")
    record, foreign, sealed = set(), [], False
    for name, is_folder in entries(directory):
        if name == "MANIFEST" and not is_folder:
            sealed = True
        elif name in FOLDERS and is_folder:
            for inner, nested in entries(os.path.join(directory, name)):
                fits = inner.endswith(FOLDERS[name]) and not nested
                record.add(f"{name}/{inner}") if fits else foreign.append(f"{name}/{inner}")
        elif name in RECORD and not is_folder:
            record.add(name)
        elif name.removesuffix(".unfinished") not in ABOUT:
            foreign.append(name)
    if not any(name == "run.json" or name.startswith("runs/") for name in record):
        raise NotARun(f"{directory}: holds no run: neither run.json nor runs/*.json is there")
    return record, foreign, sealed


def opened(path):
    """A regular file, open for reading; the last name may not be a link."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise Fault(path, None, "is missing") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Fault(path, None, "is not a regular file")
    return os.fdopen(handle, "rb", 1 << 20)


def small(path):
    """Refuses a file that is too large for one that is held whole, before it is read."""
    with opened(path) as file:
        if os.fstat(file.fileno()).st_size > TEXT_LIMIT:
            raise Fault(path, None, f"is larger than {TEXT_LIMIT} bytes")


def text_of(path):
    """A small file as text."""
    with opened(path) as file:
        data = file.read(TEXT_LIMIT + 1)
    if len(data) > TEXT_LIMIT:
        raise Fault(path, None, f"is larger than {TEXT_LIMIT} bytes")
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise Fault(path, 1 + data.count(b"\n", 0, error.start), "bytes that are not UTF-8") from None


def digest_of(path):
    """(digest, line feeds) of a file."""
    hasher, feeds = Hasher(), 0
    with opened(path) as file:
        while piece := file.read(1 << 20):
            hasher.update(piece)
            feeds += piece.count(b"\n")
    return hasher.hexdigest(), feeds


class Lines:
    """The lines behind a header, as bytes with their line feed; afterwards `rows` and `digest()` of the file."""

    def __init__(self, path, header, limit=LINE_LIMIT):
        self.path, self.header, self.limit = path, header.encode() + b"\n", limit
        self.hasher, self.rows = Hasher(), 0

    def __iter__(self):
        line_number, pieces, size = 0, [], 0
        with opened(self.path) as file:
            while line := file.readline(self.limit + 1):
                line_number += 1
                pieces.append(line)
                size += len(line)
                if size >= 1 << 20:
                    self.hasher.update(b"".join(pieces))
                    pieces, size = [], 0
                if line[-1:] != b"\n":
                    long = len(line) > self.limit
                    torn = "a torn row: the line does not end with a line feed"
                    raise Fault(self.path, line_number, f"longer than {self.limit} bytes" if long else torn)
                if line_number == 1:
                    if line != self.header:
                        ending = "; its lines may not end with a carriage return" if line.endswith(b"\r\n") else ""
                        must = self.header.decode().strip()
                        raise Fault(self.path, 1, f"the header must read `{must}`{ending}")
                    continue
                yield line_number, line
        if line_number == 0:
            raise Fault(self.path, 1, f"the header must read `{self.header.decode().strip()}`")
        self.hasher.update(b"".join(pieces))
        self.rows = line_number - 1

    def digest(self):
        return self.hasher.hexdigest()


def fields_of(path, number, line, count):
    """The fields of a line of texts and numbers; it must be written as a run writes it."""
    bad = next((byte for byte in line[:-1] if byte < 0x20 or byte == 0x7F), None)
    if bad is not None:
        raise Fault(path, number, "a carriage return" if bad == 13 else f"byte 0x{bad:02x}, which no row may hold")
    try:
        text = line[:-1].decode()
    except UnicodeDecodeError:
        raise Fault(path, number, "bytes that are not UTF-8") from None
    fields, at = [], 0
    while True:
        if text.startswith('"', at):
            end = at + 1
            while text.startswith('""', (end := text.find('"', end))) and end >= 0:
                end += 2
            if end < 0:
                raise Fault(path, number, "a quotation mark that is not closed")
            field = text[at + 1:end].replace('""', '"')
            if "," not in field and '"' not in field:
                raise Fault(path, number, f"`{field[:60]}` needs no quotation marks")
            end += 1
        else:
            end = text.find(",", at)
            end = len(text) if end < 0 else end
            field = text[at:end]
            if '"' in field:
                raise Fault(path, number, f"`{field[:60]}` needs quotation marks")
        fields.append(field)
        if end >= len(text):
            break
        if text[end] != ",":
            raise Fault(path, number, "something between a quotation mark and the next comma")
        at = end + 1
    if len(fields) != count:
        raise Fault(path, number, f"{len(fields)} fields where the header has {count}")
    return fields


def manifest_of(directory):
    """{file: (rows or None, digest)} as MANIFEST states it."""
    path = os.path.join(directory, "MANIFEST")
    stated, last = {}, ""
    for number, line in Lines(path, "file,rows,blake3"):
        name, rows, digest = fields_of(path, number, line, 3)
        parts = name.split("/")
        if re.search(r"[\\:\0]", name) or any(part in ("", ".", "..") for part in parts):
            raise Fault(path, number, f"`{name}` leads out of the run; names are those of files inside it")
        if not DIGEST.fullmatch(digest):
            raise Fault(path, number, f"`{digest[:70]}` is no digest: 64 lower-case hex digits")
        if bool(rows) != name.endswith(".csv") or (rows and not COUNT.fullmatch(rows)):
            raise Fault(path, number, f"rows is `{rows}`: a count for a .csv file, empty for others")
        if name <= last:
            raise Fault(path, number, f"`{name}` " + ("stands here twice" if name == last else "is not sorted"))
        last = name
        stated[name] = (int(rows) if rows else None, digest)
    return stated
