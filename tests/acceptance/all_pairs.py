"""Chooses few settings so that each pair of values of any two factors occurs in one of them (a covering array of
strength 2), by a greedy search that always gives the same result."""
import itertools


def all_pairs(factors):
    """factors: name -> values. Returns a list of dicts, name -> value."""
    names = list(factors)
    missing = {
        (a, x, b, y)
        for a, b in itertools.combinations(names, 2)
        for x in range(len(factors[a]))
        for y in range(len(factors[b]))
    }
    chosen = []
    while missing:
        a, x, b, y = min(missing)
        setting = {a: x, b: y}
        for name in names:
            if name in setting:
                continue
            # The value that covers most pairs with those that are fixed, or that may still cover most.
            def gain(value):
                now = sum(pair in missing for pair in pairs_of(names, {**setting, name: value}, name))
                later = sum((name, value) in ((p[0], p[1]), (p[2], p[3])) for p in missing)
                return (now, later, -value)

            setting[name] = max(range(len(factors[name])), key=gain)
        for name in names:
            missing -= set(pairs_of(names, setting, name))
        chosen.append({name: factors[name][setting[name]] for name in names})
    return chosen


def pairs_of(names, setting, name):
    """The pairs of one factor's value with the others that are set."""
    for other in setting:
        if other == name:
            continue
        a, b = sorted((name, other), key=names.index)
        yield a, setting[a], b, setting[b]
