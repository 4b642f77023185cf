"""What does a verification print?"""

CHECKS = ("files", "provenance", "rows", "plan", "evidence", "statistics", "units", "gates")
SHOWN = 1000


def check_lines(verification):
    """One line a check, then one a failure."""
    lines = []
    for check in CHECKS:
        failures, items = verification.failures[check], verification.items[check]
        word = "no" if failures else "not made" if items is None else "yes"
        if check == "units" and items == 0 and not failures:
            continue
        lines.append(f"{verification.directory}  {check:<10}  {items or 0:>7}  {word}")
        if check == "plan" and verification.short:
            lines.append(f"{verification.directory}: {verification.short}")
        if check == "units":
            lines += [f"{verification.directory}: {count} sampled outputs are not evaluated here: {reason}"
                      for reason, count in sorted(verification.unevaluated.items())]
        lines += map(str, failures[:SHOWN])
        if len(failures) > SHOWN:
            lines.append(f"{verification.directory}: {len(failures) - SHOWN} further failures of {check} are not shown")
    return lines
