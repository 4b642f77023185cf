"""What is the median of a cell's times, between which times does the true one lie, and which were warm-up?

Times are whole picoseconds, so everything but the last division is exact.
"""

from functools import lru_cache

SHORTEST, WINDOW = 12, 5


def nanoseconds(picoseconds, parts=1):
    """Python's division of integers is correctly rounded."""
    return picoseconds / (1000 * parts)


def warmup(times):
    """How many leading times are warm-up.

    The band runs from the 5 % to the 95 % quantile of the second half, wider on each side by half its width and half a
    percent of the half's median. Warm-up ends where the median of the last five times enters that band for good; a
    beginning of more than a quarter of the series is none.
    """
    n = len(times)
    if n < SHORTEST:
        return 0
    settled = sorted(times[n // 2:])
    low, middle, high = (settled[int((len(settled) - 1) * share + 0.5)] for share in (0.05, 0.5, 0.95))
    margin = (high - low) // 2 + middle // 200
    for end in range(n // 2 - 1, -1, -1):
        window = sorted(times[max(0, end + 1 - WINDOW):end + 1])
        if not low - margin <= window[len(window) // 2] <= high + margin:
            return end + 1 if end < n // 4 else 0
    return 0


def median(times):
    """In nanoseconds, of sorted times: the middle one, or the mean of the two middle ones."""
    middle = len(times) // 2
    if len(times) % 2:
        return nanoseconds(times[middle])
    return nanoseconds(times[middle - 1] + times[middle], 2)


@lru_cache(maxsize=None)
def rank(n):
    """The largest r for which the values at r and n-1-r of n sorted ones hold the median with 95 %; None below six.

    The number of values below the median is binomial (n, 1/2), so the two miss it with 2 * P(X <= r).
    """
    found, tail, mass = None, 0, 1
    for r in range((n + 1) // 2):
        tail += mass
        if 200 * tail > 5 << n:
            break
        found, mass = r, mass * (n - r) // (r + 1)
    return found


def interval(times):
    """The 95 % order-statistic interval of the median of sorted times, in nanoseconds, or (None, None)."""
    r = rank(len(times)) if times else None
    if r is None:
        return None, None
    return nanoseconds(times[r]), nanoseconds(times[len(times) - 1 - r])


def stop(plan, times, stated):
    """Why sampling ended: the share of a process is reached or, from a minimum on, precision or budget."""
    target, minimum = (-(-plan["sampling." + key] // plan["sampling.processes"]) for key in ("repetitions", "minimum_repetitions"))
    if len(times) >= target:
        return "repetitions"
    if len(times) < minimum:
        return ""
    if plan["sampling.precision"] > 0 and stated == "precise":
        return stated
    return "budget" if sum(times) >= round(plan["sampling.budget_s"] * 10 ** 12) else ""


def autocorrelation_fits(times, stated):
    """Whether a stated lag-1 autocorrelation of three decimals is that of the times, up to the last decimal."""
    n = len(times)
    offsets = [n * time for time in times]
    total = sum(times)
    offsets = [offset - total for offset in offsets]
    square = sum(d * d for d in offsets)
    if n < 3 or square == 0:
        return stated is None
    exact = sum(a * b for a, b in zip(offsets, offsets[1:])) / square
    return stated is not None and abs(stated - exact) <= 0.0011


def effective_n(n, autocorrelation):
    """How many independent repetitions n of that lag-1 autocorrelation are worth, rounded down."""
    r = min(max(autocorrelation, 0.0), 1.0)
    return int(min(max(n * (1.0 - r) / (1.0 + r), 1.0), float(n)))


def median_clock(clocks):
    clocks = sorted(clock for clock in clocks if clock is not None)
    middle = len(clocks) // 2
    if not clocks:
        return None
    return float(clocks[middle]) if len(clocks) % 2 else (clocks[middle - 1] + clocks[middle]) / 2
