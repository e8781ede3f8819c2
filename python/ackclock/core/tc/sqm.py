"""
Configuration of sqm-scripts: sections ``queue`` of /etc/config/sqm as the qdiscs that the scripts set up.

Scripts that are known: piece_of_cake.qos, layer_cake.qos (CAKE), simplest.qos and simple.qos (HTB over FQ-CoDel),
simplest_tbf.qos (a token bucket). Facts of sqm-scripts 1.6: options and defaults from its documentation
(openwrt.org, SQM configuration) and from what its scripts set.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from .._words import nearest
from ..statement import state
from .records import Place, Read, read

SCRIPTS: Final = ("piece_of_cake.qos", "layer_cake.qos", "simplest.qos", "simple.qos", "simplest_tbf.qos")
SHAPERS: Final = {"htb": "simplest.qos", "tbf": "simplest_tbf.qos"}
"""Scripts that set a single queue behind a shaper."""
LEAVES: Final = ("fq_codel", "codel", "pie", "sfq", "pfifo")
"""Qdiscs that they set."""
_OPTIONS: Final = {
    "enabled", "interface", "download", "upload", "qdisc", "script", "linklayer", "overhead", "qdisc_advanced",
    "qdisc_really_really_advanced", "ingress_ecn", "egress_ecn", "ilimit", "elimit", "itarget", "etarget",
    "iqdisc_opts",
    "eqdisc_opts", "squash_dscp", "squash_ingress", "linklayer_advanced", "linklayer_adaptation_mechanism", "tcMTU",
    "tcTSIZE", "tcMPU", "debug_logging", "verbosity", "ipt_mask", "use_mq", "autoflow", "shaper_burst",
    "htb_quantum_function", "shaper_burst_dur_us", "shaper_quantum_dur_us",
}  # fmt: skip
MTU: Final = 1500
LIMIT: Final = 1001
"""Packets of a leaf where nothing is said: a small router's."""
MILLISECOND: Final = 1000
"""Microseconds for which a shaper's burst and quantum last where nothing is said."""
SLOW: Final = 4000
"""Below this rate, kbit/s, CoDel's target is what a full packet and a half take."""


@dataclass
class Section:
    """A section ``queue``."""

    place: Place
    values: dict[str, str] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)

    def get(self, key: str, default: str = "") -> str:
        """Return an option."""
        return self.values.get(key, default)

    def whole(self, key: str, default: int = 0) -> int:
        """Return an option that is a whole number."""
        text = self.get(key) or str(default)
        if not text.lstrip("-").isdigit():
            self.places[key].wrong("not a whole number", text, "kbit/s" if key.endswith("load") else "a whole number")
        return int(text)


def sections(text: str, file: str, notes: list[str]) -> list[Section]:
    """Read the sections of a configuration."""
    uci_sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), 1):
        place = Place(file, number)
        try:
            words = shlex.split(line, comments=True)
        except ValueError:
            place.wrong("a quotation that does not end", line.strip())
        if not words:
            continue
        if words[0] == "config":
            if len(words) < 2 or words[1] != "queue":  # noqa: PLR2004  kind
                place.wrong("a section of another kind", " ".join(words), "config queue NAME")
            uci_sections.append(Section(place))
        elif words[0] == "option" and len(words) == 3 and uci_sections:  # noqa: PLR2004  key and value
            if words[1] not in _OPTIONS:
                place.wrong(f"sqm-scripts has no option {words[1]}", None, None, nearest(words[1], sorted(_OPTIONS)))
            uci_sections[-1].values[words[1]] = words[2]
            uci_sections[-1].places[words[1]] = Place(file, number, words[1])
        else:
            place.wrong("not a line of /etc/config/sqm", line.strip(), "config queue NAME, option KEY VALUE")
    off = [section for section in uci_sections if section.get("enabled", "1") != "1"]
    if len(off) < len(uci_sections):
        notes += [str(state("tc.disabled", place=section.place.where)) for section in off]
        return [section for section in uci_sections if section not in off]
    return uci_sections


def records(text: str, file: str) -> Read:
    """
    Return what the scripts set for a configuration, as records of tc: the interface's queue and that of its ifb.

    Raises
    ------
    ScenarioError
        At an option that does not exist or has no counterpart.
    """
    every = Read()
    for section in sections(text, file, every.notes):
        dev = section.get("interface", "eth0")
        for way, rate, name in (
            ("e", section.whole("upload"), dev),
            ("i", section.whole("download"), f"ifb4{dev}"[:15]),
        ):
            if rate <= 0:
                every.notes.append(str(state("tc.unshaped", file=file, line=section.place.line, device=name)))
                continue
            lines = _lines(section, way, rate, name, every.notes)
            own = read("\n".join(lines), file)
            for record in own.records:
                record.place = Place(
                    file, section.place.line, f"{'upload' if way == 'e' else 'download'}.{record.kind}"
                )
            every.records += own.records
            every.notes += own.notes
    return every


def _lines(section: Section, way: str, rate: int, dev: str, notes: list[str]) -> list[str]:
    script, qdisc = section.get("script", "piece_of_cake.qos"), section.get("qdisc", "fq_codel")
    if script not in SCRIPTS:
        section.places.get("script", section.place).wrong("a script that is not known", script, ", ".join(SCRIPTS))
    layer, overhead = section.get("linklayer", "none"), section.whole("overhead")
    more = section.get(f"{way}qdisc_opts")
    if "cake" in script or qdisc.startswith("cake"):
        size = {"none": "", "ethernet": f"noatm overhead {overhead}", "atm": f"atm overhead {overhead}"}.get(layer)
        if size is None:
            section.places["linklayer"].wrong("a link layer that is not known", layer, "none, ethernet, atm")
        mpu = section.whole("tcMPU")
        size += f" mpu {mpu}" if mpu and layer != "none" else ""
        squashed = way == "i" and section.get("squash_ingress", "1") == "1"
        tins = "besteffort" if script.startswith("piece") or squashed else "diffserv3"
        return [f"tc qdisc replace dev {dev} root cake bandwidth {rate}kbit {tins} {size} {more}"]
    if layer == "ethernet":
        if overhead or section.whole("tcMPU"):
            facts = {"place": section.places["linklayer"].where, "device": dev, "overhead": overhead}
            notes.append(str(state("tc.stab", **facts, mpu=section.whole("tcMPU"), size=1514, counted=1514 + overhead)))
    elif layer != "none":
        section.places["linklayer"].wrong(
            f"{script} sets sizes of the link layer (stab), which have no counterpart",
            layer,
            "none, ethernet, or a script with cake",
        )
    if qdisc not in LEAVES:
        section.places["qdisc"].wrong("a qdisc that is not known here", qdisc, ", ".join((*LEAVES, "cake")))
    return _shaper(section, script, way, rate, dev, _leaf(section, qdisc, way, rate), more)


def _leaf(section: Section, qdisc: str, way: str, rate: int) -> str:
    words = [qdisc, "limit", section.get(f"{way}limit") or str(LIMIT)]
    if qdisc in ("fq_codel", "codel", "pie"):
        target = section.get(f"{way}target")
        if target not in ("", "auto", "default"):
            words += ["target", target]
        elif qdisc != "pie" and rate < SLOW and target != "default":
            micros = round(1.5 * MTU * 8 / (rate / 1e3))
            words += ["target", f"{max(micros, 5000)}us", "interval", f"{100_000 + max(micros - 5000, 0)}us"]
        marks = section.get("ingress_ecn" if way == "i" else "egress_ecn", "ECN" if way == "i" else "NOECN")
        words += [] if qdisc == "pie" and marks.upper() == "NOECN" else [marks.lower()]
    return " ".join(words)


def _shaper(section: Section, script: str, way: str, rate: int, dev: str, leaf: str, more: str) -> list[str]:
    lasting = section.whole("shaper_burst_dur_us", MILLISECOND)
    burst = max(rate * lasting // 8000, MTU + 100) if section.get("shaper_burst", "1") != "0" else MTU + 100
    quantum = max(rate * section.whole("shaper_quantum_dur_us", MILLISECOND) // 8000 // MTU, 1) * MTU
    begin = f"tc class replace dev {dev}"
    if script == "simplest_tbf.qos":
        limit = f"limit {max(burst, MTU) + LIMIT * (MTU + 14)}"
        shaped = f"tc qdisc replace dev {dev} root handle 1: tbf rate {rate}kbit burst {burst} {limit}"
        return [shaped, f"tc qdisc replace dev {dev} parent 1:1 handle 110: {leaf} {more}"]
    whole = f"htb quantum {quantum} rate {rate}kbit ceil {rate}kbit burst {burst} cburst {burst}"
    tiers = script == "simple.qos" and not (way == "i" and section.get("squash_ingress", "1") == "1")
    lines = [f"tc qdisc replace dev {dev} root handle 1: htb default {12 if tiers else 10}"]
    lines += [f"{begin} parent 1: classid 1:1 {whole}"]
    if not tiers:
        lines += [f"{begin} parent 1:1 classid 1:10 {whole} prio 0"]
        return [*lines, f"tc qdisc replace dev {dev} parent 1:10 handle 110: {leaf} {more}"]
    sixth, third, most = rate // 6, rate // 3, rate - 16
    fast = 128 if way == "e" else 32
    for minor, prio, own, ceil in ((11, 1, fast, max(third, fast)), (12, 2, sixth, most), (13, 3, sixth, most)):
        bursts = f"burst {burst} cburst {burst}"
        lines += [
            f"{begin} parent 1:1 classid 1:{minor} htb quantum {quantum} rate {own}kbit ceil {ceil}kbit {bursts} "
            f"prio {prio}"
        ]
        few = {"e": (300, 300, 300), "i": (500, 1500, 300)}[way][prio - 1]
        own_quantum = f" quantum {few}" if leaf.startswith("fq_codel") else ""
        lines += [f"tc qdisc replace dev {dev} parent 1:{minor} handle {minor}0: {leaf}{own_quantum} {more}"]
    codes = {11: ("cs6", "ef", "af42"), 13: ("cs1",)}
    numbers = {"cs6": 0xC0, "ef": 0xB8, "af42": 0x90, "cs1": 0x20}
    lines += [
        f"tc filter add dev {dev} parent 1: protocol ip prio {minor} u32 match ip dsfield 0x{numbers[code]:02x} 0xfc "
        f"flowid 1:{minor}"
        for minor, own_codes in codes.items()
        for code in own_codes
    ]
    return lines


def configured(text: str) -> bool:
    """Whether a text is a configuration of sqm-scripts."""
    return bool(re.search(r"^\s*config\s+queue\b", text, re.MULTILINE))


@dataclass(frozen=True)
class Way:
    """One direction of an interface: the shaper and the qdisc that a script sets."""

    bits: float
    """Rate of the shaper, bit/s."""
    qdisc: str
    script: str
    words: str
    """Options of the qdisc, in tc's words."""


def written(links: Mapping[str, Way]) -> str:
    """
    Return a configuration of sqm-scripts: a section for each interface and its ifb.

    Raises
    ------
    ValueError
        If both ways of an interface need different scripts or qdiscs.
    """
    lines = []
    for dev in sorted({name.removeprefix("ifb4") for name in links}):
        ways = {"upload": links.get(dev), "download": links.get(f"ifb4{dev}"[:15])}
        scripts = {(way.script, way.qdisc): None for way in ways.values() if way}
        if len(scripts) > 1:
            both = " and ".join(f"{qdisc} by {script}" for script, qdisc in scripts)
            raise ValueError(f"{dev}: sqm-scripts have one qdisc and script for both ways; found {both}")
        ((script, qdisc),) = scripts
        lines += [f"config queue '{dev}'", "\toption enabled '1'", f"\toption interface '{dev}'"]
        for key, way in ways.items():
            lines.append(f"\toption {key} '{round(way.bits / 1e3) if way else 0}'")
            lines += [f"\toption {'e' if key == 'upload' else 'i'}qdisc_opts '{way.words}'"] if way else []
        lines += [f"\toption qdisc '{qdisc}'", f"\toption script '{script}'", "\toption linklayer 'none'"]
        lines += [
            "\toption qdisc_advanced '1'",
            "\toption qdisc_really_really_advanced '1'",
            "\toption squash_ingress '0'",
        ]
    return "\n".join([*lines, ""])


__all__ = ["LEAVES", "SCRIPTS", "SHAPERS", "Way", "configured", "records", "sections", "written"]
