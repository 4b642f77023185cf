"""What do run.json and plan.toml say that the checks rest on?"""

import json
import re

from run_files import Fault, text_of

# Digest of the text of the input recipes that rigel_inputs.py follows.
RECIPES = "a93f19ff97e80d053e75a9eb745b29f34c689204f1dab4d71134b3a7b887e52d"
SCHEMA = 1
WANTED = {"schema": int, "run": str, "kind": str, "plan_hash": str, "recipe_hash": str, "seed": int, "device": dict}


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
    if record["schema"] != SCHEMA:
        raise Fault(path, None, f"schema is {record['schema']}; this verifier reads {SCHEMA}")
    if name.startswith("runs/") and name != f"runs/{record['run']}.json":
        raise Fault(path, None, f"holds run `{record['run'][:100]}`, which its name is not")
    return record


def numbers_of(text):
    """{`section.key`: number} of a plan as a run writes it: one key a line under its section."""
    found, section = {}, ""
    for line in text.splitlines():
        if match := re.fullmatch(r"\[([a-z]+)\]", line):
            section = match[1] + "."
        elif match := re.fullmatch(r"([a-z_]+) = (-?[0-9]{1,20})", line):
            found[section + match[1]] = int(match[2])
        elif match := re.fullmatch(r"([a-z_]+) = (-?[0-9]+(?:\.[0-9]+)?(?:e-?[0-9]+)?)", line):
            found[section + match[1]] = float(match[2])
    return found
