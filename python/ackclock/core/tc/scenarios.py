"""Scenarios of what tc, sqm-scripts and LibreQoS have, and the way back."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from .._words import listed
from ..devices import redirect
from ..scenario import Scenario
from ..statement import state
from . import libreqos, sqm, trees, units
from .kinds import RATE, Queue, number, write_leaf
from .records import Place, Read, Record, read

PORT: Final = "1 Gbit/s"
"""Rate of an interface whose queue holds packets back itself."""
SHAPERS: Final = ("htb", "hfsc", "tbf")
"""Disciplines with classes that hold packets back."""
IFB: Final = "ifb4"
"""With the name of an interface, the device to which what arrives there is redirected."""
TCP: Final = {
    "style": "linux", "congestion": "cubic", "packet_size": "1514 B", "header_size": "66 B", "ack_size": "66 B",
}  # fmt: skip
"""Senders of Linux; packets count with the Ethernet header, as Linux's queues count them."""


@dataclass(frozen=True)
class Imported:
    """A configuration as a scenario."""

    scenario: Scenario
    notes: tuple[str, ...] = field(default=())
    """Parts that were left out, and why."""


def import_tc(
    files: Sequence[tuple[str, str]], *, rate: str | None = None, rtt: str = "40 ms", congestion: str = "cubic"
) -> Imported:
    """
    Read the queues of a configuration into a scenario.

    Parameters
    ----------
    files
        Names and texts: tc's commands, its output, its JSON; /etc/config/sqm; or network.json with ShapedDevices.csv.
    rate
        Rate of the interface, such as ``"100 Mbit/s"``. It is needed where its queue does not hold packets back itself.
    rtt
        Round trip of the flows that the scenario gets, without queueing.
    congestion
        Their congestion control.

    Raises
    ------
    ScenarioError
        With file, line or key, what was found and what is allowed.

    Examples
    --------
    >>> made = import_tc([("home", "tc qdisc replace dev eth0 root cake bandwidth 20mbit nat")])
    >>> made.scenario.canonical["link"][0]["queue"]["scheduler"]["nat"]
    True
    """
    notes: list[str] = []
    if any(_is_network(text) for _, text in files):
        return _provider(files, rate, rtt, congestion)
    records = Read()
    for name, text in files:
        own = sqm.records(text, name) if sqm.configured(text) else read(text, name)
        records.records += own.records
        records.notes += own.notes
    notes += records.notes
    links: dict[str, tuple[Queue, list[str]]] = {}
    devices = trees.devices(records.records)
    shaping = [device for device in devices if (root := trees.root_of(device)) and root.form in ("cake", *SHAPERS)]
    for device in devices:
        if rate is None and shaping and device not in shaping:
            notes += [str(state("tc.without-rate", device=device.name))] if trees.root_of(device) else []
            continue
        queue = trees.queue_of(device, notes)
        if queue is not None:
            links[device.name or "link"] = queue
            notes += _other_ageing(trees.root_of(device), rate)
    if not links:
        policed = [entry.place for device in devices for entry in device.filters if "police" in entry.words]
        if policed:
            policed[0].wrong(
                "a policer alone has no queue; in a scenario a link has it: policer = { rate, burst }",
                "police",
                "a queue at the root of the interface beside it",
            )
        Place(files[0][0] if files else "tc", None).wrong(
            "there is no queue at the root of an interface", None, "what tc qdisc show prints, or commands"
        )
    if rate is None:
        notes.append(str(state("tc.assumed-rate", links=listed(list(links)), rate=PORT)))
    return Imported(_scenario(links, files[0][0], rate, rtt, congestion, notes), tuple(notes))


def _other_ageing(root: Record | None, rate: str | None) -> list[str]:
    """A note where RED's average of an empty queue ages as on a link of another rate than the interface's."""
    words = list(root.words) if root and root.form == "red" else []
    given = words[words.index("bandwidth") + 1] if "bandwidth" in words[:-1] else None
    if root is None or given is None or rate is None or number(RATE.read(given)) == number(rate):
        return []
    return [str(state("tc.red-bandwidth", place=root.place.where, given=given, rate=number(rate)))]


def _is_network(text: str) -> bool:
    return text.lstrip().startswith("{") and "BandwidthMbps" in text


def shaped(queue: Mapping[str, Any]) -> bool:
    """Whether a queue holds packets back to a rate of its own."""
    scheduler = queue.get("scheduler", "none")
    kind = scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler
    if kind == "cake":
        return bool(isinstance(scheduler, Mapping) and scheduler.get("bandwidth", "unlimited") != "unlimited")
    return kind in ("htb", "tbf") or (
        kind == "hfsc" and all(number(row.get("ul_m2", "0 bit/s")) for row in queue["classes"])
    )


def _scenario(
    links: Mapping[str, tuple[Queue, list[str]]],
    file: str,
    rate: str | None,
    rtt: str,
    congestion: str,
    notes: list[str],
) -> Scenario:
    for name, (queue, _) in links.items():
        if rate is None and not shaped(queue):
            Place(file, None, name).wrong(
                "the queue has no rate of its own", None, "--rate with that of the interface, such as 100mbit"
            )
    links = dict(sorted(links.items(), key=lambda link: not link[0].startswith(IFB)))  # what people load comes in
    flows: list[dict[str, Any]] = []
    taken: set[str] = set()
    for name, (queue, comments) in links.items():
        back = _back(name, links)
        ways = {"path": [name], **({"reverse_path": [back]} if back else {})}
        wanted = [(entry, "cs0") for entry in sorted(comments)]
        wanted += [(f"{code}", code) for code in _codes(queue)]
        wanted.append(("rest", "cs0"))
        for comment, code in wanted:
            own = comment if comment not in taken else f"{comment} over {name}"
            if own != comment and comment in comments:
                _rename(queue, comment, own)
            taken.add(own)
            flows.append({"name": own, **ways, "rtt": rtt, "dscp": code, **TCP, "congestion": congestion})
    lost = [flow for flow in flows if not _has_class(links, flow)]
    for flow in lost:
        own = f'packets of "{flow["name"]}"' if flow["name"] != "rest" else "packets that no filter asks for"
        notes.append(str(state("tc.no-class", file=file, packets=own)))
        for name in flow["path"]:
            _rename(links[name][0], flow["name"], None)
    if len(lost) == len(flows):
        Place(file, None).wrong("no packets have a class with a queue", None, "default with such a class, or filters")
    tree = {
        "scenario": {"name": Path(file).stem or "tc", "duration": "60 s", "measure": "20 s .. 60 s"},
        "link": [{"name": name, "rate": rate or PORT, "queue": queue} for name, (queue, _) in links.items()],
        "flows": [flow for flow in flows if flow not in lost],
    }
    return Scenario(tree, origin=file)


def _back(name: str, links: Mapping[str, Any]) -> str | None:
    """The interface of the other way: an ifb has the name of its interface in its own."""
    if name.startswith(IFB):
        return next((link for link in links if link != name and link.endswith(name[len(IFB) :])), None)
    return next((link for link in links if link.startswith(IFB) and name.endswith(link[len(IFB) :])), None)


def _leaves(queue: Mapping[str, Any]) -> list[dict[str, Any]]:
    leaves: list[dict[str, Any]] = []
    for row in queue.get("classes", []):
        leaves += _leaves(row) if "classes" in row else [row]
    return leaves


def _codes(queue: Mapping[str, Any]) -> list[str]:
    """A code point of each class that asks for some, also in trees below."""
    codes = []
    for row in _leaves(queue):
        codes += row.get("dscp", [])[:1]
        codes += _codes(row.get("queue", {}))
    return list(dict.fromkeys(codes))


def _rename(queue: Mapping[str, Any], old: str, new: str | None) -> None:
    """Give a class of flows another name in the filters, or none."""
    for row in _leaves(queue):
        if old in row.get("flows", []):
            row["flows"] = [flow for name in row["flows"] if (flow := new if name == old else name)]
        _rename(row.get("queue", {}), old, new)


def _has_class(links: Mapping[str, tuple[Queue, list[str]]], flow: Mapping[str, Any]) -> bool:
    """Whether a class of the queues takes a class of flows; others would go around the queue."""
    return all(_takes(links[name][0], flow) for name in flow["path"])


def _takes(queue: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    if "classes" not in queue:
        return True
    leaves = _leaves(queue)
    own = [row for row in leaves if flow["name"] in row.get("flows", [])]
    own = own or [row for row in leaves if flow["dscp"] in row.get("dscp", [])]
    own = own or [row for row in leaves if row["name"] == queue.get("default")]
    return bool(own) and _takes(own[0].get("queue", {}), flow)


def _provider(files: Sequence[tuple[str, str]], rate: str | None, rtt: str, congestion: str) -> Imported:
    notes: list[str] = []
    top: list[libreqos.Node] = []
    for name, text in files:
        if _is_network(text):
            top = libreqos.network(text, name)
    rest = [(name, text) for name, text in files if not _is_network(text)]
    if not rest:
        Place(files[0][0], None).wrong("the circuits are missing", None, "ShapedDevices.csv, too")
    for name, text in rest:
        libreqos.circuits(text, name, top)
    every = [circuit for node in top for below in node.every() for circuit in below.circuits]
    links, flows = [], []
    for way, key in enumerate(libreqos.WAYS):
        whole = sum(node.rates[way] for node in top)
        queue = libreqos.queue(top, way, notes if way == 0 else [])
        links.append({"name": key, "rate": rate or units.scenario_rate(whole), "queue": queue})
        other = libreqos.WAYS[1 - way]
        # the class of a circuit takes the ACKs of its other way, too
        for row in _leaves(queue):
            row["flows"].append(row["flows"][0].replace(key, other))
        flows += [
            {
                "name": f"{entry.name} {key}",
                "path": [key],
                "reverse_path": [other],
                "rtt": rtt,
                **TCP,
                "congestion": congestion,
            }
            for entry in every
        ]
    head = {"name": Path(files[0][0]).stem, "duration": "60 s", "measure": "20 s .. 60 s"}
    return Imported(Scenario({"scenario": head, "link": links, "flows": flows}, origin=files[0][0]), tuple(notes))


# Out


@dataclass(frozen=True)
class Exported:
    """A scenario's queues in the words of what sets them."""

    files: Mapping[str, str]
    """Texts by the name of the file."""
    notes: tuple[str, ...]
    """Parts that they do not say, and where they differ."""


FORMATS: Final = ("tc", "sqm", "libreqos")


def export_tc(scenario: Scenario, form: str = "tc", devices: Mapping[str, str] | None = None) -> Exported:
    """
    Write the queues of a scenario as commands of tc, as configuration of sqm-scripts, or as files of LibreQoS.

    Parameters
    ----------
    scenario
        The scenario; for sqm-scripts, links without a shaper are left out if others have one.
    form
        One of `FORMATS`.
    devices
        Interfaces by the names of links; by default the links' own names.

    Raises
    ------
    ValueError
        Naming the key, of what cannot be said.
    """
    tree = in_disciplines(scenario)
    names = {link["name"]: (devices or {}).get(link["name"], link["name"]) for link in tree["link"]}
    if form == "libreqos":
        by_name = {link["name"]: link["queue"] for link in tree["link"]}
        if set(by_name) != set(libreqos.WAYS):
            raise ValueError(f"LibreQoS has the links {' and '.join(libreqos.WAYS)}; found {', '.join(by_name)}")
        first, second = libreqos.written(by_name["download"], by_name["upload"])
        return Exported({"network.json": first, "ShapedDevices.csv": second}, ())
    notes: list[str] = []
    if form == "sqm":
        return Exported({"sqm": _sqm(tree, names, notes)}, tuple(notes))
    lines: list[str] = []
    for at, link in enumerate(tree["link"]):
        rate = number(link["rate"]) if isinstance(link["rate"], str) else math.inf
        writer = trees.Writer(_device(names[link["name"]]), rate)
        lines += _redirected(writer.dev, names.values(), notes)
        trees.write(link["queue"], writer, f"link[{at}].queue")
        if link.get("policer", "none") != "none":
            notes.append(str(state("tc.no-policer", link=link["name"])))
        notes += _above_line(link, at)
        lines += writer.lines
        notes += writer.notes
        notes += [str(state("tc.marked", flows=name, mark=mark)) for name, mark in writer.marks.items()]
    return Exported({"tc": "\n".join([*lines, ""])}, tuple(notes))


def _redirected(dev: str, others: Collection[str], notes: list[str]) -> list[str]:
    """Return the lines by which what arrives at an interface goes through its ifb; a note where it is not known."""
    if not dev.startswith("ifb"):
        return []
    own = next((name for name in others if f"{IFB}{name}"[:15] == dev), dev.removeprefix(IFB))
    if own == dev:
        notes.append(str(state("tc.not-redirected", dev=dev)))
        return []
    return redirect(own, dev)


def in_disciplines(scenario: Scenario) -> dict[str, Any]:
    """Return the canonical tree; a link's shaper is the discipline of that name, and RED's own choices are numbers."""
    tree: dict[str, Any] = json.loads(scenario._core.on_links())
    for link in tree["link"]:
        if link["shaper"] == "none":
            continue
        kind, rates = link["shaper"]["discipline"], {key: link["shaper"][key] for key in ("rate", "burst")}
        # the bucket of the ceil, which is the rate, would hold bursts back
        leaf = {**rates, "cburst": rates["burst"]} if kind == "htb" else {}
        row = {"name": "shaped", "queue": link["queue"], **leaf}
        scheduler = {"kind": kind, **(rates if kind == "tbf" else {})}
        link["queue"] = {"scheduler": scheduler, "classes": [row], "default": "shaped"}
        link["shaper"] = "none"
    return Scenario(tree, origin=scenario.origin).canonical


def _above_line(link: Mapping[str, Any], at: int) -> list[str]:
    """Say where the rates of a link's shaper, or of classes below another, are more than there is."""
    queue = link["queue"]
    scheduler = queue.get("scheduler", "none")
    kind = scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler
    line = number(link["rate"]) if isinstance(link["rate"], str) else math.inf
    notes = []
    if kind == "htb":

        def sums(rows: Sequence[Mapping[str, Any]], above: float, whose: str) -> None:
            whole = sum(number(row["rate"]) for row in rows)
            if whole > above:
                facts = {"queue": f"link[{at}].queue", "rates": whole, "whose": whose, "above": above}
                notes.append(str(state("tc.rates-above", **facts)))
            for row in rows:
                most = row["rate"] if row.get("ceil", "rate") == "rate" else row["ceil"]
                sums(row.get("classes", []), number(most), f"class {json.dumps(row['name'])}")

        sums(queue["classes"], line, "the line")
    elif kind in ("cake", "tbf"):
        rate = scheduler["bandwidth" if kind == "cake" else "rate"]
        if rate != "unlimited" and number(rate) > line:
            facts = {"queue": f"link[{at}].queue", "kind": kind, "rate": number(rate), "line": line}
            notes.append(str(state("tc.rate-above", **facts)))
    return notes


def _device(name: str) -> str:
    if not name or len(name) > 15 or any(letter.isspace() or letter == "/" for letter in name):  # noqa: PLR2004  IFNAMSIZ
        raise ValueError(
            f"an interface has a name of up to 15 letters, no blanks; found {json.dumps(name)}; allowed: --dev LINK=DEV"
        )
    return name


def _sqm(tree: Mapping[str, Any], names: Mapping[str, str], notes: list[str]) -> str:
    links: dict[str, sqm.Way] = {}
    unshaped = [link["name"] for link in tree["link"] if not shaped(link["queue"])]
    for at, link in enumerate(tree["link"]):
        if link["name"] in unshaped and len(unshaped) < len(tree["link"]):
            notes.append(str(state("tc.not-in-sqm", link=link["name"])))
            continue
        place, queue = f"link[{at}].queue", link["queue"]
        scheduler = queue.get("scheduler", "none")
        kind = scheduler["kind"] if isinstance(scheduler, Mapping) else scheduler
        leaf, rates = queue, [scheduler["bandwidth" if kind == "cake" else "rate"]] if kind in ("cake", "tbf") else []
        while kind in sqm.SHAPERS and len(leaf.get("classes", [])) == 1:
            (row,) = leaf["classes"]
            rates += [row["rate"] if row["ceil"] == "rate" else row["ceil"]] if kind == "htb" else []
            leaf = row.get("queue", row)
        rates = [rate for rate in rates if rate != "unlimited"]
        words = write_leaf(leaf, place, notes).split() if "classes" not in leaf else ["a tree of classes"]
        if not rates or words[0] not in (sqm.LEAVES if kind in sqm.SHAPERS else ("cake",)):
            raise ValueError(
                f"{place}: sqm-scripts have cake with a bandwidth, or htb or tbf (a link's shaper, too) with one of "
                f"{', '.join(sqm.LEAVES)}; found {words[0]}{'' if rates else ' without a rate'}"
            )
        notes += _above_line(link, at)
        bits = min(map(number, rates))
        if bits % 1000:
            raise ValueError(f"{place}: sqm-scripts have whole kbit/s; found {' and '.join(rates)}")
        if kind == "cake":
            way = sqm.Way(bits, "cake", "layer_cake.qos", " ".join(words[3:]))
        else:
            way = sqm.Way(bits, words[0], sqm.SHAPERS[kind], " ".join(words[1:]))
            notes.append(str(state("tc.sqm-bursts", place=place, script=way.script)))
        links[_device(names[link["name"]])] = way
    return sqm.written(links)
