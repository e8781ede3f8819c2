"""
Judges of what `fair`, `buffer` and `stability` print, which share no code with what prints it.

Numbers are read from the text and held against runs of their own with other seeds; of stability, against roots of the
equations by `stability_checker`.
"""

from __future__ import annotations

import re
from typing import Any

import ackclock as ac
from stability_checker import places

UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "%": 0.01}
QUANTITY = r"([0-9.e+-]*[0-9]) (us|ms|s|%)(?![\w/])"
SHARE_APART = 0.12
"""With other seeds a share may lie so far beside both intervals."""
USED_APART = 0.02
"""The same of a utilisation."""
WAIT_APART = 0.25
"""The same of a wait, as a part of it; and a packet's time."""


def quantity(text: str) -> list[float]:
    """The quantities of a text, in SI units."""
    return [float(digits) * UNITS[unit] for digits, unit in re.findall(QUANTITY, text)]


def wrong_fair(answer: dict[str, Any], text: str, style: str, seed: int = 31) -> list[str]:
    """Return what is false in a map of two controls: the cells, who gets more than its part, and that part."""
    counts, controls = answer["counts"], answer["controls"]
    even, faults, beyond = counts[0] / sum(counts), [], [0, 0]
    head = text.split("\n\n")[1]
    found = re.findall(r"([0-9.]+)(?: \[([0-9.]+), ([0-9.]+)\])? %", head)
    cells = [(float(share), float(low or share), float(high or share)) for share, low, high in found]
    for place, (share, low, high) in zip(answer["places"], cells, strict=True):
        length = place["length_s"]
        scenario = ac.dumbbell(
            rate=answer["rate"],
            queue={"aqm": "drop-tail", "capacity": f"{place['buffer_packets']} packets"},
            flows=[
                ac.flows(count, kind, name=f"{k}", rtt=f"{place['rtt_s']} s", start="uniform 0 s .. 1 s", style=style)
                for k, (kind, count) in enumerate(zip(controls, counts, strict=True))
            ],
            duration=f"{2 * length} s",
            measure=f"{length / 2} s .. {2 * length} s",
        )
        own = [ac.run(scenario, seed=k).classes["goodput_bps"] for k in range(seed, seed + 3)]
        mine = sum(float(goodput["0"] / goodput[["0", "1"]].sum()) for goodput in own) / len(own)
        if not low / 100 - SHARE_APART <= mine <= high / 100 + SHARE_APART:
            faults.append(f"{share} [{low}, {high}] % at {place['buffer_bdp']} BDP, {100 * mine:.3g} % in other runs")
        if not 0 <= low <= share <= high <= 100:
            faults.append(f"{share} [{low}, {high}] % is no interval of a share")
        beyond[0] += low > 100 * even
        beyond[1] += high < 100 * even
        product = ac._core.quantity(answer["rate"])[0] * place["rtt_s"] / 12_000
        if abs(place["buffer_packets"] - max(place["buffer_bdp"] * product, 4)) > 0.51:
            faults.append(f"{place['buffer_packets']} packets are not {place['buffer_bdp']} x {product:.4g}")
    said = re.search(r"than its part \((\d+) %\) in (\d+) of (\d+) places, .* in (\d+); in (\d+) it is", text)
    left = len(cells) - sum(beyond)
    if said is None or [*map(int, said.groups())] != [round(100 * even), beyond[0], len(cells), beyond[1], left]:
        faults.append(f"{said and said[0]!r}: part {even:.3g}, more and less in {beyond} of {len(cells)}")
    return faults


def _stated(text: str) -> tuple[float, float]:
    """Return a quantity, and half its interval where it has one."""
    value, *ends = quantity(text)
    return value, (ends[0] if "±" in text else max(ends, default=value) - value)


def wrong_buffer(text: str, scenario: Any, target: float, seed: int = 31) -> list[str]:
    """Return what is false of a buffer's sizes: the table, the size that is enough, its price, and the two rules."""
    tree = scenario.canonical
    rate = ac._core.quantity(tree["link"][0]["rate"])[0]
    rtt = ac._core.quantity(tree["flows"][0]["rtt"])[0]
    flows, product, faults = int(tree["flows"][0]["count"]), rate * rtt / 12_000, []
    enough = None
    spans = re.search(r"packet runs? of (.*?) at each", text)
    length = max(quantity(spans[1])) if spans else 20.0
    table = text.partition("\nbuffer ")[2].partition("\n\n")[0]
    rows = re.findall(r"^(\d+) packets +(.*)$", table, re.MULTILINE)
    for packets, row in rows:
        cells = re.split(r"  +", row.strip())
        (seconds, *_), (used, *ends) = quantity(cells[0]), quantity(cells[2])
        half = ends[0] if "±" in cells[2] else used - ends[0] if ends else 0.0  # or what is left of it below 100 %
        rest, doubts = zip(*(_stated(cell) for cell in cells[3:6]), strict=True)
        changed = scenario.with_(
            {
                "link.bottleneck.queue.capacity": f"{packets} packets",
                "scenario.duration": f"{3 * length} s",
                "scenario.measure": f"{length} s .. {3 * length} s",
            }
        )
        own = ac.run(changed, seed=seed).links.loc["bottleneck"]
        if abs(seconds - int(packets) * 12_000 / rate) > 0.01 * seconds:
            faults.append(f"{packets} packets take {int(packets) * 12_000 / rate:.4g} s, not {seconds:.4g}")
        if abs(used - own["utilization"]) > half + USED_APART:
            faults.append(f"{packets} packets: used {used:.4g}, {own['utilization']:.4g} in another run")
        for stated, doubt, key in zip(rest, doubts, ("delay_mean", "delay_p99"), strict=False):
            if abs(stated - own[key]) > max(doubt, WAIT_APART * own[key] + 12_000 / rate):
                faults.append(f"{packets} packets: {key} {stated:.4g} s, {own[key]:.4g} in another run")
        enough = None if used - half <= target else enough or (packets, rest)
    said = re.search(r"(?:A buffer of|with) (\d+) packets .*? (?:is enough|it is)", text)
    if said is None or enough is None or said[1] != enough[0]:
        faults.append(f"{said and said[1]} packets are said to be enough, {enough} are")
    elif price := re.search(r"the mean wait is (.*?), 99 % wait at most (.*?), and", text):
        stated = [quantity(part)[0] for part in price.groups()]
        if any(abs(a - b) > 0.01 * b for a, b in zip(stated, enough[1], strict=False)):
            faults.append(f"{price[0]!r}: the table has {enough[1]}")
    rules = re.search(r"says ([0-9.]+) packets?(?:, divided by the root of (\d+) flows ([0-9.]+[0-9]))?", text)
    wanted = [product, flows, product / flows**0.5]
    if rules is None or any(
        abs(float(a) - b) > (0.51 if b >= 9.5 else 0.051 * b) for a, b in zip(rules.groups(), wanted, strict=False) if a
    ):
        faults.append(f"{rules and rules[0]!r}: {wanted}")
    return faults


def wrong_stability(text: str, scenario: Any, choices: Any, rtt_key: str = "flows.rtt") -> list[str]:
    """Return what is false of one class over one link: verdict, how far the RTT may move, the equilibrium's lines."""
    tree, faults = scenario.canonical, []
    rate = ac._core.quantity(tree["link"][0]["rate"])[0] / 12_000
    rtt, count = ac._core.quantity(tree["flows"][0]["rtt"])[0], int(tree["flows"][0]["count"])
    verdicts = {place.verdict for place in places(scenario, choices)}
    if text.startswith("Stable") not in verdicts and None not in verdicts:
        faults.append(f"{text.split('.', maxsplit=1)[0]}: {verdicts}")
    moved = re.search(r"The RTT (?:may|must) (grow|fall) from (.*?) to (\S+ \w+) before the queue", text)
    if moved is not None:
        now, there = (quantity(part)[0] for part in moved.groups()[1:])
        if abs(now - rtt) > 1e-3 * rtt or (there > now) != (moved[1] == "grow"):
            faults.append(f"{moved[0]!r}: it is {rtt:.4g} s")
        for factor, stable in ((0.98, True), (1.02, False)):
            value = there * factor if there > now else there / factor
            if stable not in {place.verdict for place in places(scenario, choices, rtt_key, value)}:
                faults.append(f"{moved[0]!r}: at {value:.4g} s it is otherwise")
    lines = re.search(
        r"window ([0-9.]+) packets, RTT (.*?), loss (.*?)\n.*queue ([0-9.]+) packets, loss or marks", text
    )
    if lines is None:
        return [*faults, "no equilibrium is printed"]
    window, queue, trip = float(lines[1]), float(lines[4]), quantity(lines[2])[0]
    if abs(trip - rtt - queue / rate) > 2e-3 * trip:
        faults.append(f"RTT {trip:.4g} s, by the queue {rtt + queue / rate:.4g}")
    if abs(count * window / trip * (1 - quantity(lines[3])[0]) / rate - 1) > 2e-3:
        faults.append(f"{count} windows of {window} packets in {trip:.4g} s do not fill the link")
    return faults
