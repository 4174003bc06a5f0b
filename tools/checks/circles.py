"""Files that include one another, on whatever way. A header and the source beside it, of
one stem, are one unit."""

import os

DOCUMENT, HEADING = "docs/design.md", "## Circles"


class Circle:
    """Units each of which reaches all others."""

    def __init__(self, units, graph):
        self.units = set(units)
        self.graph = graph

    def shortest(self):
        """The edges of one way around, the same in each run: the shortest through the
        unit that comes first."""
        begin = min(self.units)
        waiting, came_by = [begin], {}
        while begin not in came_by:
            unit = waiting.pop(0)
            for target in sorted(self.graph[unit].keys() & self.units):
                if target not in came_by:
                    came_by[target] = unit
                    waiting.append(target)
        edges, unit = [], begin
        while not edges or unit != begin:
            edges.append((came_by[unit], unit))
            unit = came_by[unit]
        return edges[::-1]


class Reason:
    """A row: units and folders of one circle, and why it is there."""

    def __init__(self, number, names, text):
        self.number, self.names, self.text = number, names, text

    def holds(self, unit):
        return any(unit == name or unit.startswith(name + "/") for name in self.names)


def unit_of(name):
    return os.path.splitext(name)[0]


def unit_graph(includes):
    """Of (file, line, included file): which units each unit includes, and where first."""
    graph = {}
    for name, line, target in includes:
        own, other = unit_of(name), unit_of(target)
        graph.setdefault(own, {})
        graph.setdefault(other, {})
        if own != other:
            graph[own].setdefault(other, f"{name}:{line}")
    return graph


def reached_from(graph, unit):
    reached, waiting = set(), [unit]
    while waiting:
        for target in graph[waiting.pop()]:
            if target not in reached:
                reached.add(target)
                waiting.append(target)
    return reached


def circles_of(graph):
    reached = {unit: reached_from(graph, unit) for unit in graph}
    found, seen = [], set()
    for unit in sorted(graph):
        if unit in reached[unit] and unit not in seen:
            circle = {other for other in reached[unit] if unit in reached[other]}
            seen |= circle
            found.append(Circle(circle, graph))
    return found


def read_reasons(tree):
    lines = tree.lines(DOCUMENT) if DOCUMENT in tree.names else []
    if HEADING not in lines:
        return []
    reasons, begin = [], lines.index(HEADING) + 1
    for number, line in enumerate(lines[begin:], begin + 1):
        if line.startswith("#"):
            break
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 2 and cells[0] != "circle" and not cells[0].startswith("-"):
            reasons.append(Reason(number, [name.strip().rstrip("/") for name in cells[0].split(",")], cells[1]))
    return reasons


def judge(tree, includes):
    """Complaints about circles without a reason, and about reasons without a circle."""
    findings, reasons, taken = [], read_reasons(tree), {}
    for circle in circles_of(unit_graph(includes)):
        reason = next((row for row in reasons if row not in taken and row.text
                       and all(map(row.holds, circle.units))), None)
        if reason:
            taken[reason] = circle
            continue
        edges = circle.shortest()
        way = ", ".join(f"{circle.graph[one][other]} includes {other}" for one, other in edges)
        findings.append(f"{circle.graph[edges[0][0]][edges[0][1]]}: a circle of {len(circle.units)} files, for which "
                        f'"{HEADING.strip("# ")}" of {DOCUMENT} has no reason: {way}')
    for reason in reasons:
        units = taken[reason].units if reason in taken else ()
        for name in reason.names:
            if not any(unit == name or unit.startswith(name + "/") for unit in units):
                findings.append(f"{DOCUMENT}:{reason.number}: {name} is in no circle")
    return findings
