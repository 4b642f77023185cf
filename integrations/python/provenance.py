"""What do run.json and plan.toml say that the checks rest on?"""

import json
import re

from run_files import Fault, text_of

# Digest of the text of the input recipes that rigel_inputs.py follows.
RECIPES = "a93f19ff97e80d053e75a9eb745b29f34c689204f1dab4d71134b3a7b887e52d"
SCHEMA = 1
# Every backend, with the kind of its runs.
BACKENDS = {"cpu": "measured", "cuda": "measured", "metal": "measured", "metal-sim": "simulated", "sim": "simulated"}
WANTED = {"schema": int, "run": str, "kind": str, "plan": str, "partition": str, "plan_hash": str, "recipe_hash": str, "seed": int, "device": dict}
# Keys that are there besides, whatever they hold: a record that lacks one says less than every run does.
ALSO = ("commit", "dirty", "binary_hash", "command", "concurrent_cells", "started", "host")
OF_HOST = ("cpu", "logical_cpus", "load", "environment")
OF_DEVICE = ("name", "backend", "selector", "cores", "memory_bytes", "firmware", "toolchain", "os", "kernels", "clocks", "features", "missing_meters")


def no_number(word):
    raise ValueError(f"{word} is no number")


def record_of(path, name):
    """One provenance record; the keys of WANTED, device.id and device.driver are there and of their kinds."""
    try:
        record = json.loads(text_of(path), parse_constant=no_number)
    except json.JSONDecodeError as error:
        raise Fault(path, error.lineno, f"not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise Fault(path, None, f"not JSON of a run: {error}") from None
    fine = isinstance(record, dict) and all(type(record.get(key)) is kind for key, kind in WANTED.items())
    if not fine or not all(type(record["device"].get(key)) is str for key in ("id", "driver")):
        raise Fault(path, None, f"lacks one of {' '.join(WANTED)} device.id device.driver, or it is of another kind")
    missing = [key for key in ALSO if key not in record]
    missing += [f"device.{key}" for key in OF_DEVICE if key not in record["device"]]
    missing += [f"host.{key}" for key in OF_HOST if not isinstance(record.get("host"), dict) or key not in record["host"]]
    if missing:
        raise Fault(path, None, f"lacks {' '.join(missing)}")
    if record["schema"] != SCHEMA:
        raise Fault(path, None, f"schema is {record['schema']}; this verifier reads {SCHEMA}")
    if record["kind"] not in ("measured", "simulated"):
        raise Fault(path, None, f"kind is `{record['kind'][:100]}`; it is measured or simulated")
    backend, selector = record["device"]["backend"], record["device"]["selector"]
    if type(backend) is not str or backend not in BACKENDS:
        raise Fault(path, None, f"device.backend is `{str(backend)[:100]}`; known: {' '.join(BACKENDS)}")
    if record["kind"] != BACKENDS[backend]:
        raise Fault(path, None, f"kind is `{record['kind']}`; runs of the backend `{backend}` are `{BACKENDS[backend]}`")
    if type(selector) is not str or selector and selector.partition(":")[0] != backend:
        raise Fault(path, None, f"device.selector is `{str(selector)[:100]}`, which opens no device of the backend `{backend}`")
    if name.startswith("runs/") and name != f"runs/{record['run']}.json":
        raise Fault(path, None, f"holds run `{record['run'][:100]}`, which its name is not")
    return record


# Keys of a plan that the checks rest on, with the kind of each value.
KEYS = {"name": str, "seed": int, "probes": list, "sampling.processes": int, "sampling.repetitions": int,
        "sampling.minimum_repetitions": int, "sampling.budget_s": float, "sampling.precision": float, "thresholds.coarse_cap": float, "thresholds.full_check": int,
        "match.triple": str, "baselines.a": str, "baselines.b": str, "baselines.c": str, "baselines.d": str,
        "select.paths": list, "select.triples": list, "select.filter": str, "types.shapes": list, "types.recipes": list,
        "throughput.shapes": list, "throughput.recipes": list, "throughput.caches": list, "throughput.ceilings": bool}


def plan_of(path, text):
    """{`section.key`: value} of a plan as a run writes it: one key a line under its section, values as in JSON."""
    found, section = {}, ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := re.fullmatch(r"\[([a-z]+)\]", line):
            section = match[1] + "."
        elif match := re.fullmatch(r"([a-z_]+) = (.+)", line):
            try:
                found[section + match[1]] = json.loads(match[2], parse_constant=no_number)
            except (ValueError, RecursionError):
                raise Fault(path, number, f"`{match[1]}` has a value that no run writes") from None
    for key, kind in KEYS.items():
        if type(found.get(key)) is not kind or kind is list and not all(type(one) is str for one in found[key]):
            raise Fault(path, None, f"lacks {key.replace('.', ' -> ')}, or it is of another kind than {kind.__name__}")
    asked = found.get("order.shapes")
    if "order" in found["probes"] and not (type(asked) is list and asked and all(type(one) is str for one in asked)):
        raise Fault(path, None, "lacks order -> shapes, or it is no list of shapes")
    for key, value in found.items():
        is_axis = key.rpartition(".")[2] in ("shapes", "recipes", "caches", "activations", "offsets", "strides")
        if is_axis and not (type(value) is list and all(type(one) in (str, int) for one in value)):
            raise Fault(path, None, f"{key.replace('.', ' -> ')} is no list")
    if found["sampling.processes"] < 1 or not (found["types.shapes"] and found["types.recipes"]):
        raise Fault(path, None, "has no process, or no shape or recipe of types")
    return found


def is_whole(partitions):
    """Whether runs of these parts of a plan are all of it: one is undivided, or all shards of a division are here."""
    shards = {}
    for partition in partitions:
        if partition == "":
            return True
        if match := re.fullmatch("slice:([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", partition):
            shards.setdefault(int(match[2]), set()).add(int(match[1]))
    return any(found >= set(range(1, count + 1)) for count, found in shards.items())


def offers_of(path, record):
    """(path, triple, why it is absent) of each offer of the device."""
    offers = record["device"].get("offers")
    fine = isinstance(offers, list) and all(
        isinstance(offer, dict) and all(type(offer.get(key)) is str for key in ("path", "triple", "absent")) for offer in offers)
    if not fine:
        raise Fault(path, None, "device.offers is no list of offers with path, triple and absent")
    return [(offer["path"], offer["triple"], offer["absent"]) for offer in offers]
