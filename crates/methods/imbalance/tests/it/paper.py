#!/usr/bin/env python3
"""Section 3 of the paper, transcribed: what `--method paper` must say of counts in the text format (docs/counts.md).

    pip install numpy scipy
    HOLDUP_COUNTS=counts cargo test -p holdup-imbalance stored      # writes the counts of all stored recordings
    python3 paper.py counts/*.txt > paper.txt

Nothing here is shared with the program: clusters are merged one pair after another in a matrix of all correlations,
dominators are found as sets, models are fitted by least squares, and p-values are SciPy's. What the paper leaves open is
decided as docs/why.md says, and marked below.
"""

import shlex
import sys

import numpy as np
from scipy.stats import f as f_distribution

THRESHOLD = 0.9
SIGNIFICANCE = 0.05
LEAST_SCORE = 0.1
FEWEST_THREADS = 3
MOST_REGRESSORS = 10


class Counts:
    """Counts as text says them."""

    def __init__(self, lines):
        self.waits, self.exits, self.lengths, self.addresses = {}, {}, {}, {}
        self.edges, self.hardware, self.sections = set(), {}, []
        for line in lines:
            words = shlex.split(line, comments=True)
            if not words:
                continue
            word, by_position, by_name = words[0], [], {}
            for value in words[1:]:
                name, equals, rest = value.partition("=")
                if equals and name.isidentifier():
                    by_name[name] = rest
                else:
                    by_position.append(value)
            self.take(word, by_position, by_name)

    def take(self, word, at, by_name):
        number = lambda text: int(text, 0)
        if word == "block":
            block = number(at[0])
            self.waits[block] = "waits" in at[1:]
            self.exits[block] = by_name.get("exit", "falls")
            self.lengths[block] = number(by_name.get("instructions", "1"))
            self.addresses[block] = number(by_name.get("address", "0"))
        elif word == "hardware":
            event = number(at[0])
            named = {name: number(by_name[name]) for name in ("block", "superior") if name in by_name}
            self.hardware[event] = {"kind": at[1], **named}
        elif word == "section":
            self.sections.append([])
        elif word == "instance":
            self.sections[-1].append({"time": {}, "events": {}, "units": []})
        elif word == "edge":
            edge = (number(at[0]), number(at[1]))
            self.edges.add(edge)
            if len(at) == 4:
                self.add(edge, number(at[2]), number(at[3]), self.lengths[edge[1]])
        elif word == "library":
            self.add(("library", number(at[0])), number(at[1]), number(at[2]), 1)
        elif word == "count":
            self.add(("hardware", number(at[0])), number(at[1]), number(at[2]), 0)
        elif word == "time":
            self.instance()["time"][number(at[0])] = ("given", number(at[1]))
        elif word == "work":
            unit = {"construct": number(by_name.get("construct", "0")), "events": {}, "time": 0}
            unit["given"] = number(by_name["time"]) if "time" in by_name else None
            self.instance()["time"].setdefault(number(at[0]), ("counted", 0))
            self.instance()["units"].append(unit)
        elif word == "work-edge":
            edge = (number(at[0]), number(at[1]))
            self.edges.add(edge)
            self.add_to_unit(edge, number(at[2]), self.lengths[edge[1]])
        elif word == "work-library":
            self.add_to_unit(("library", number(at[0])), number(at[1]), 1)
        elif word == "work-count":
            self.add_to_unit(("hardware", number(at[0])), number(at[1]), 0)

    def instance(self):
        return self.sections[-1][-1]

    def add(self, event, thread, count, weight):
        events = self.instance()["events"].setdefault(event, {})
        events[thread] = events.get(thread, 0) + count
        how, time = self.instance()["time"].get(thread, ("counted", 0))
        self.instance()["time"][thread] = (how, time + (count * weight if how == "counted" else 0))

    def add_to_unit(self, event, count, weight):
        unit = self.instance()["units"][-1]
        unit["events"][event] = unit["events"].get(event, 0) + count
        unit["time"] += count * weight


class Graph:
    """Control flow of the whole program: a virtual root leads to every block without predecessors."""

    def __init__(self, blocks, edges):
        self.out = {block: [] for block in blocks}
        self.into = {block: [] for block in blocks}
        for edge in sorted(edges):
            self.out[edge[0]].append(edge)
            self.into[edge[1]].append(edge)
        roots = [block for block in sorted(blocks) if not self.into[block]]
        reached = self.reached(roots)
        # Open in the paper: cycles that nothing leads to. Their lowest block has the root before it.
        for block in sorted(blocks):
            if block not in reached and self.leads_nowhere_before(block, reached):
                roots.append(block)
                reached |= self.reached([block])
        self.roots = sorted(roots)
        self.back = self.dominated()
        self.back |= self.retreating(self.back)

    def reached(self, roots):
        reached, open_ = set(roots), list(roots)
        while open_:
            for _, to in self.out[open_.pop()]:
                if to not in reached:
                    reached.add(to)
                    open_.append(to)
        return reached

    def leads_nowhere_before(self, block, reached):
        """Whether all that leads to this block is reached from it too."""
        before, open_ = {block}, [block]
        while open_:
            for source, _ in self.into[open_.pop()]:
                if source not in before:
                    before.add(source)
                    open_.append(source)
        return before <= self.reached([block]) and not before & reached

    def dominated(self):
        """Edges whose target dominates their source, by the sets of all dominators."""
        order, seen = [], set()
        for root in self.roots:
            stack = [(root, iter(self.out[root]))] if root not in seen else []
            seen.add(root)
            while stack:
                block, edges = stack[-1]
                to = next((to for _, to in edges if to not in seen), None)
                if to is None:
                    order.append(block)
                    stack.pop()
                else:
                    seen.add(to)
                    stack.append((to, iter(self.out[to])))
        order.reverse()
        everything = frozenset(order)
        dominators = {block: everything for block in order}
        changed = True
        while changed:
            changed = False
            for block in order:
                before = [dominators[source] for source, _ in self.into[block]]
                before += [frozenset()] if block in self.roots else []
                new = frozenset.intersection(*before) | {block}
                if new != dominators[block]:
                    dominators[block] = new
                    changed = True
        return {edge for edges in self.out.values() for edge in edges if edge[1] in dominators[edge[0]]}

    def retreating(self, back):
        """Open in the paper: cycles with several entries. A depth-first search tells what goes back in them."""
        found, done, within = set(), set(), set()
        for root in self.roots:
            if root in done:
                continue
            within.add(root)
            stack = [(root, iter(self.out[root]))]
            while stack:
                block, edges = stack[-1]
                edge = next(edges, None)
                if edge is None:
                    within.discard(block)
                    done.add(block)
                    stack.pop()
                elif edge in back:
                    continue
                elif edge[1] in within:
                    found.add(edge)
                elif edge[1] not in done:
                    within.add(edge[1])
                    stack.append((edge[1], iter(self.out[edge[1]])))
        return found


def deal(instance):
    """Not of the paper: work that was dealt out at run time goes, in order, to whoever has the least time (docs/why.md)."""
    threads = sorted(instance["time"])
    time = [instance["time"][thread][1] for thread in threads]
    events = {event: [counts.get(thread, 0) for thread in threads] for event, counts in instance["events"].items()}
    order = {}
    for unit in instance["units"]:
        order.setdefault(unit["construct"], len(order))
    for unit in sorted(instance["units"], key=lambda unit: order[unit["construct"]]):
        to = time.index(min(time))
        time[to] += unit["time"] if unit["given"] is None else unit["given"]
        for event, count in unit["events"].items():
            events.setdefault(event, [0] * len(threads))[to] += count
    return time, events


def z_score(values):
    """Of length 1 in the place of variance 1, so that correlations are products. None of what is constant."""
    values = np.asarray(values, float)
    if np.all(values == values[0]):
        return None
    centred = values - values.mean()
    length = np.sqrt(centred @ centred)
    # What rounding leaves of a constant is one.
    return None if length <= 1e-9 * np.abs(values).max() else centred / length


def own_part(values, superiors):
    """Section 3.1: what the superiors leave of an event."""
    own = np.asarray(values, float) - np.mean(values)
    basis = []
    for superior in superiors:
        rest = np.asarray(superior, float) - np.mean(superior)
        length = np.sqrt(rest @ rest)
        for direction in basis:
            rest = rest - (rest @ direction) * direction
        if length > 0 and np.sqrt(rest @ rest) > 1e-9 * length:
            basis.append(rest / np.sqrt(rest @ rest))
    for direction in basis:
        own = own - (own @ direction) * direction
    length = np.sqrt(own @ own)
    return None if length <= 1e-9 * max(values) else own / length


def return_edge(counts, graph, block):
    """The edge from a call to the block behind it, which the next address tells."""
    if counts.exits[block] not in ("call", "indirect-call"):
        return None
    length = max(counts.lengths[block], 1)
    first = counts.addresses[block] + length
    behind = [edge for edge in graph.out[block] if first <= counts.addresses[edge[1]] <= first + 14 * length]
    return min(behind, key=lambda edge: counts.addresses[edge[1]], default=None)


def executions(counts, graph, events, block):
    rows = len(next(iter(events.values())))
    total = lambda edges: np.sum([events.get(edge, [0] * rows) for edge in edges] or [[0] * rows], axis=0)
    into = total(graph.into[block])
    back = return_edge(counts, graph, block)
    out = total([back] if back else graph.out[block])
    return out if out.sum() > into.sum() else into


def superiors(counts, graph, events, event):
    """What must happen before an event can, from the first on."""
    if event[0] == "library":
        return [executions(counts, graph, events, event[1])]
    chain, rows = [], len(next(iter(events.values())))
    while event is not None:
        one = counts.hardware[event[1]]
        if "superior" not in one:
            if "block" in one:
                chain.append(executions(counts, graph, events, one["block"]))
            break
        event = ("hardware", one["superior"])
        chain.append(np.asarray(events.get(event, [0] * rows)))
    return chain[::-1]


def columns(counts, graph, events):
    """Sections 3.1 and 3.2: events as Z-scores."""
    found = {}
    for event, values in sorted(events.items(), key=lambda one: rank(one[0])):
        if event[0] == "hardware":
            if counts.hardware[event[1]]["kind"] == "access":
                continue
        elif event[0] != "library" and counts.waits[event[1]]:
            continue
        if event[0] in ("hardware", "library"):
            before = [one for one in superiors(counts, graph, events, event) if np.any(one != one[0])]
            score = own_part(values, before) if before else z_score(values)
        else:
            score = z_score(values)
        if score is not None:
            found[event] = score
    return found


def clusters(scores):
    """Section 3.2: average linkage, one pair after another, until the most alike are less so than the threshold."""
    members = [[at] for at in range(len(scores))]
    alike = scores @ scores.T
    np.fill_diagonal(alike, -np.inf)
    while len(members) > 1:
        a, b = np.unravel_index(np.argmax(alike), alike.shape)
        if alike[a, b] < THRESHOLD - 1e-12:
            break
        a, b = min(a, b), max(a, b)
        merged = (len(members[a]) * alike[a] + len(members[b]) * alike[b]) / (len(members[a]) + len(members[b]))
        alike[a], alike[:, a] = merged, merged
        alike[a, a] = -np.inf
        members[a] += members.pop(b)
        alike = np.delete(np.delete(alike, b, 0), b, 1)
    return members


def residual(time, chosen):
    """Sum of squares that a linear model leaves, with its coefficients."""
    model = np.array(chosen).T
    beta = np.linalg.lstsq(model, time, rcond=None)[0]
    rest = time - model @ beta
    return rest @ rest, beta


def select(time, candidates):
    """Section 3.5: forward selection by the partial F-test."""
    chosen, left = [], time @ time
    while len(chosen) < MOST_REGRESSORS:
        freedom = len(time) - 1 - len(chosen) - 1
        if freedom < 1 or left <= 1e-20:
            break
        best = None
        for at, candidate in enumerate(candidates):
            if at in chosen:
                continue
            if chosen:
                rest = candidate - np.array([candidates[one] for one in chosen]).T @ residual(
                    candidate, [candidates[one] for one in chosen])[1]
                if rest @ rest < 1e-9:  # a combination of those chosen
                    continue
            squares, _ = residual(time, [candidates[one] for one in chosen + [at]])
            # Open in the paper: the ways of a branch tie. What grows with time is taken, else the first in the order of edges.
            tie = best is not None and abs(left - squares - best[1]) <= 1e-9 * left
            grows = candidate @ time > 0
            if best is None or (grows > best[3] if tie else left - squares > best[1]):
                best = (at, left - squares, squares, grows)
        if best is None:
            break
        at, added, squares, _ = best
        p = f_distribution.sf(added / (squares / freedom), 1, freedom) if squares > 0 else 0.0
        if not p < SIGNIFICANCE:
            break
        chosen.append(at)
        left = squares
    beta = residual(time, [candidates[one] for one in chosen])[1] if chosen else []
    return chosen, beta


def leaders(graph, members, with_time):
    """Section 3.4: blocks with an edge into the cluster and none from it but back edges, and Eq. 1."""
    correlation = lambda edge: with_time.get(edge, 0.0)
    found = {}
    inside = {event for event in members if event[0] not in ("library", "hardware")}
    for block in sorted({source for source, _ in inside}):
        into = [edge for edge in graph.into[block] if edge not in graph.back]
        if any(edge in inside for edge in into):
            continue
        out = [edge for edge in graph.out[block] if edge not in graph.back]
        found[block] = max(map(correlation, out), default=0.0) - max(map(correlation, into), default=0.0)
    return found


def name(event):
    if event[0] in ("library", "hardware"):
        return f"{event[0]}:{event[1]}"
    return f"{event[0]}>{event[1]}"


def rank(event):
    """Edges come before hardware, and that before libraries."""
    return {"hardware": 1, "library": 2}.get(event[0], 0), event if event[0] not in ("hardware", "library") else event[1:]


def digest(text):
    """FNV-1a."""
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


def main(paths):
    print("# made by paper.py with numpy", np.__version__, "and SciPy; do not edit")
    for path in sorted(paths):
        with open(path, encoding="utf-8") as file:
            counts = Counts(file)
        graph = Graph(counts.waits, counts.edges)
        print("recording", path.rsplit("/")[-1].removesuffix(".txt"))
        for number, instances in enumerate(counts.sections):
            print("section", number)
            sums, weights = {}, 0
            for at, instance in enumerate(instances):
                time, events = deal(instance)
                idle = sum(max(time) - one for one in time)
                if len(time) < FEWEST_THREADS or idle == 0:
                    continue
                weights += idle
                final = look(counts, graph, at, time, events)
                for blamed, score in final.items():
                    sums[blamed] = sums.get(blamed, 0.0) + idle * score
            for blamed, total in sorted(sums.items()):
                if total / weights >= LEAST_SCORE - 1e-9:
                    print("score", blamed, repr(float(total / weights)))


def look(counts, graph, at, time, events):
    """One dynamic instance: the final score of each leader or event (Eq. 2)."""
    scores = columns(counts, graph, events)
    names = list(scores)
    time = z_score(time)
    of = {name(event): event for event in names}
    in_order = sorted(sorted(cluster) for cluster in clusters(np.array(list(scores.values()))))
    found = [sorted(name(names[one]) for one in cluster) for cluster in in_order]
    kept, candidates = [], []
    for cluster in found:
        average = np.sum([scores[of[one]] for one in cluster], axis=0)
        length = np.sqrt(average @ average)
        if length > 1e-9:
            kept.append(cluster)
            candidates.append(average / length)
    everything = ";".join(" ".join(cluster) for cluster in sorted(kept))
    print("instance", at, len(kept), f"{digest(everything):016x}")
    with_time = {event: score @ time for event, score in scores.items()}
    final = {}
    chosen, betas = select(time, candidates)
    for one, beta in zip(chosen, betas):
        print("chosen", repr(float(beta)), len(kept[one]), f"{digest(' '.join(kept[one])):016x}")
        members = [of[member] for member in kept[one]]
        if all(event[0] in ("library", "hardware") for event in members):
            blamed = {name(event): beta for event in members}
        else:
            lead = leaders(graph, members, with_time)
            for block, score in lead.items():
                print("leader", block, repr(float(score)))
            blamed = {f"block:{block}": beta * score for block, score in lead.items()}
        for who, score in blamed.items():
            if who not in final or abs(final[who]) < abs(score):
                final[who] = score
    return final


main(sys.argv[1:])
