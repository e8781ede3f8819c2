"""
A judge of what `ackclock why` prints: every number of its text is that of the answer's JSON, in its place.

It parses the text; nothing of what wrote it is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

UNITS = {
    "us": 1e-6,
    "ms": 1e-3,
    "s": 1.0,
    "%": 0.01,
    "bit/s": 1.0,
    "kbit/s": 1e3,
    "Mbit/s": 1e6,
    "Gbit/s": 1e9,
}
QUANTITY = re.compile(r"(-?[0-9][0-9.e-]*) (us|ms|s|%|[kMG]?bit/s)(?![\w/])")
NOTHING = 4e-9
"""Zero is printed of less than this only."""
NEARLY_ALL = "99.99 %"
"""It is printed of all that is less than 100 %, which is printed of the whole only."""


LIMITS = (4.339, 4.024, 3.597, 3.1, 2.575)
"""Mean opinion scores at which users begin to be otherwise satisfied, ..."""
USERS = (
    "very satisfied",
    "satisfied",
    "some users dissatisfied",
    "many users dissatisfied",
    "nearly all users dissatisfied",
    "not recommended",
)
"""... and how they are above and between and below them: G.107, table B.1."""
MOST = 1 + 0.035 * 93.2 + 7e-6 * 93.2 * (93.2 - 60) * (100 - 93.2)
"""The score of R = 93.2, all defaults of G.107 (annex B): no call has more."""


def _call(setting: Mapping[str, Any]) -> tuple[str, str]:
    """The score and the words of a call, over the interval of the score."""
    mean, half, (low, high) = setting["call"]["mos"], setting["half"]["mos"], setting["call"]["mos_ends"]
    assert low == max(mean - half, 1.0), (low, mean, half)
    assert mean - 1e-9 <= high <= min(mean + half, MOST) + 1e-9, (high, mean, half)
    users = [USERS[sum(score < limit for limit in LIMITS)] for score in (low, high)]
    decimals = 2 if _at_limit(low, 1) or _at_limit(high, 1) else 1
    scores = [f"{_beside_limits(score, decimals):.{decimals}f}" for score in (low, high)]
    return " to ".join(sorted({*scores})), " to ".join(sorted({*users}, key=users.index))


def _beside_limits(score: float, digits: int) -> float:
    """The rounded score, a digit less or more where a limit lies between it and the score."""
    rounded = round(score, digits)
    if not _at_limit(score, digits):
        return rounded
    return rounded + (-1 if rounded > score else 1) * 10.0**-digits


def _at_limit(score: float, digits: int) -> bool:
    """Whether a score with so many decimals is on the other side of a limit."""
    return any((round(score, digits) < limit) != (score < limit) for limit in LIMITS)


def wrong(answer: Mapping[str, Any]) -> list[str]:
    """Return what the text of an answer, `printed`, has otherwise than the answer."""
    text = str(answer["printed"])
    parts = [answer, *answer["beside"]]
    faults = [
        f"not printed: {sentence['text']}"
        for part in parts
        for sentence in part["sentences"]
        if sentence["text"] not in text
    ]
    faults += _whose(text, parts)
    for part in parts:
        for name, key in (("now", "present"), ("instead", "other")):
            if part[key] is not None:
                faults += _setting(text, part, name, part[key], len(parts) > 1)
    faults += _classes(text, answer)
    if answer["people"] and answer["people"]["settings"]:
        faults += _people(text, answer["people"]["settings"])
    return faults + _commands(text, parts) + _following(text, answer)


def _whose(text: str, parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Where several links are judged, what is said of one stands in its line."""
    if len(parts) == 1:
        return []
    faults = []
    for part in parts:
        (line,) = [line for line in text.splitlines() if line.startswith(f"{part['link']}: ")]
        own = [sentence["text"] for sentence in part["sentences"] if sentence["subject"] not in ("FQ-CoDel", "BBR")]
        faults += [f"{part['link']}: not in its line: {sentence}" for sentence in own if sentence not in line]
    return faults


def _near(where: str, text: str, stated: Sequence[float]) -> list[str]:
    """The quantities of a text one by one: each is its number to half of the last digit that is printed."""
    shown = QUANTITY.findall(text)
    if len(shown) != len(stated):
        return [f"{where}: {len(shown)} numbers, not {len(stated)}: {text.strip()}"]
    faults = []
    for (digits, unit), number in zip(shown, stated, strict=True):
        if f"{digits} {unit}" == NEARLY_ALL and float(digits) * UNITS[unit] <= number < 1:
            continue
        last = 10.0 ** -len(digits.partition(".")[2]) * UNITS[unit] if float(digits) else NOTHING
        if abs(float(digits) * UNITS[unit] - number) > 0.501 * last:
            faults.append(f"{where}: {digits} {unit} is printed, it is {number:.6g}")
    return faults


def _setting(text: str, part: Mapping[str, Any], name: str, setting: Mapping[str, Any], many: bool) -> list[str]:
    """The two lines below a setting's head."""
    head = f"{part['link']}, {name}: {setting['queue']}" if many else f"{name:8}{setting['queue']}"
    lines = text.splitlines()
    if head not in lines:
        return [f"no setting {head!r}"]
    picture, numbers = lines[lines.index(head) + 1 :][:2]
    faults = _near(head, picture.partition("| ")[2], [setting["peak"]])
    match = re.fullmatch(
        r"  delay p50 (.*), p99 (.*); utilisation (.*?)(?: \(.* of the policer's .*\))?"
        r"(?: of the time, (.*) of what its rate would carry)?; "
        r"(?:loss|dropped, mostly needless ACKs,) (.*)",
        numbers,
    )
    if match is None:
        return [*faults, f"{head}: {numbers}"]
    keys = ("delay_p50", "delay_p99", "utilization", "throughput", "loss")
    for key, shown in zip(keys, match.groups(), strict=True):
        if shown is not None and setting[key] is not None:
            all_of = [key, "wire_loss"] if key == "loss" and setting["wire_loss"] else [key]
            stated = [number for own in all_of for number in (setting[own], *_over_seeds(setting, own))]
            faults += _near(f"{head}: {key}", shown, stated)
    return faults


def _over_seeds(setting: Mapping[str, Any], key: str) -> list[float]:
    """
    What stands after a number whose interval over the seeds is wide, and is not printed as zero.

    Of a wait it is wide from a hundredth of it on, of a share from 0.1 % on, or a twentieth of a small one.
    """
    value, half = setting[key], setting.get(f"{key}_half", 0.0)
    if key.startswith("delay"):  # a percentile is no less than the median
        least, most = 0.0, math.inf
        if key == "delay_p99":  # ... and no more than a buffer allows, in which nothing is longer
            least, most = min(setting["delay_p50"], value), setting.get("most") or math.inf
            assert most > 0.98 * setting["peak"], (most, setting["peak"])
        low, high = max(value - half, least), min(value + half, most)
        ends = [half] if value - half >= least and not value <= most < value + half else [low, high]
        return [] if half <= max(0.01 * value, NOTHING) else ends
    inside = half <= value and half <= 1 - value
    return (
        []
        if half <= min(1e-3, 0.05 * value)
        else [half]
        if inside
        else [max(value - half, 0.0), min(value + half, 1.0)]
    )


def _rows(text: str, head: str) -> dict[str, str]:
    """Rows of a table, joined over the pieces in which it is continued below itself."""
    rows: dict[str, str] = {}
    open_ = False
    for line in text.splitlines():
        if not line.strip():
            open_ = False
        elif line.startswith(f"{head} "):
            open_ = True
        elif open_:
            name, _, cells = line.partition("  ")
            rows[name] = f"{rows.get(name, '')}  {cells}"
    return rows


def _classes(text: str, answer: Mapping[str, Any]) -> list[str]:
    """What classes of flows get: flows, goodputs, losses, and 99th percentiles of the one-way delay."""
    now = answer["present"]["classes"]
    others = [part["other"]["classes"] for part in [answer, *answer.get("beside", [])] if part["other"] is not None]
    settings = [now, *others[:1]]
    rows = _rows(text, "median transfer")
    faults = [
        fault
        for name, row in now.items()
        if row["completion"] is not None
        for fault in _near(f"transfers of {name}", rows[name], _numbers(settings, name, "completion"))
    ]
    if len(now) < 2:
        return faults
    rows = _rows(text, "class")
    for name in now:
        if name not in rows:
            faults.append(f"class {name} has no row")
            continue
        stated = []
        for setting in settings:
            value, half = setting[name]["goodput"], setting[name]["goodput_half"]
            end = half if half <= value else value + half
            stated += [value, end] if half > 0.01 * value else [value]
        for setting in settings:
            value, half = setting[name]["loss"], setting[name]["loss_half"]
            inside = value is None or half <= value <= 1 - half
            ends = [half] if inside else [max(value - half, 0.0), min(value + half, 1.0)]
            stated += [value, *ends] if value is not None and half > min(1e-3, 0.05 * value) else [value]
        for setting in settings:  # that of a single run has no interval
            value, half = setting[name]["one_way_p99"], setting[name].get("one_way_p99_half") or 0.0
            ends = [half] if value is None or half <= value else [0.0, value + half]
            stated += [] if value is None else [value, *ends] if half > 0.01 * value else [value]
        single = [setting[name]["one_way_p99_half"] is None for setting in settings if setting[name]["one_way_p99"]]
        if rows[name].count("in one run") != sum(single):
            faults.append(f"class {name}: not the tails of {sum(single)} settings are said to be of one run")
        cells = re.sub(r"([0-9.]+) (?:± |\[0, )([0-9.]+)\]? ([kMG]?bit/s)", r"\1 \3  \2 \3", rows[name])
        faults += _near(f"class {name}", cells, [number for number in stated if number is not None])
    return faults


def _numbers(settings: Sequence[Mapping[str, Any]], name: str, *keys: str) -> list[float]:
    """What a row of a class has in each setting."""
    stated = [setting[name][key] for key in keys for setting in settings]
    return [number for number in stated if number is not None]


def _people(text: str, settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The table for people, and its sentence."""
    rows = _rows(text, "for people")
    faults: list[str] = []
    stated: dict[str, list[float]] = {"game": [], "page": [], "download": []}
    for setting in settings.values():
        for row, key in (("game", "ping"), ("page", "page"), ("download", "download")):
            value, half = setting[f"{key}_s"], setting["half"][key]
            if value is not None and half < value:
                stated[row] += _with(value, half, setting["ping_base_s"] if key == "ping" else 0.0)
                stated[row] += [setting["download_bps"]] if row == "download" else []
        known = setting["ping_s"] is not None and setting["half"]["ping"] < setting["ping_s"]
        stated["game"] += [setting["ping_p99_s"]] if known and setting["ping_p99_s"] is not None else []
    names = {"game": "a game, there and back", "page": "a page of 2 MB", "download": "a transfer of 100 MB"}
    for row, values in stated.items():
        shown = re.sub(r"not known: .*?(?=  |$)", "", rows.get(names[row], ""))
        shown = re.sub(r"; the slowest of .*?(?=  |$)", _slowest(settings, faults), shown)
        faults += _near(names[row], shown, values)
    mos = [f"MOS {', '.join(_call(setting))}" for setting in settings.values() if setting["call"]]
    if re.findall(r"MOS [0-9. to]+, [a-z ]*[a-z]", rows.get("a call", "")) != mos:
        faults.append(f"a call: {rows.get('a call')}, not {mos}")
    return faults + _said(text, settings)


def _slowest(settings: Mapping[str, Mapping[str, Any]], faults: list[str]) -> Callable[[re.Match[str]], str]:
    """A slowest page is that of a setting, to the digits that are printed; what is not is added to the faults."""

    def checked(found: re.Match[str]) -> str:
        many, *_ = map(int, re.findall(r"of (\d+): ", found[0]))
        longest = [setting["page_s_max"] for setting in settings.values() if setting["pages"] == many]
        if all(_near("slowest", found[0].split(f"{many}: ", 1)[1], [value]) for value in longest):
            faults.append(f"slowest page: {found[0]}, not {longest}")
        return ""

    return checked


def _with(value: float, half: float, least: float = 0.0) -> list[float]:
    """A time, and its interval where that is wider than a hundredth of it: its ends where it would begin too low."""
    if half <= 0.01 * value:
        return [value]
    return [value, least, value + half] if value - half < least <= value else [value, half]


def _said(text: str, settings: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The sentence for people: each setting's grade, call and page."""
    (line,) = [line for line in text.splitlines() if line.startswith("For people: ") and "probes beside" not in line]
    body = re.sub(
        r"\. (?:Cannot tell whether|Now these packets wait in class|Now packets of |These are in the class|"
        r"Now (?=.* loses? )) ?.*",
        "",
        line.removeprefix("For people: "),
    ).rstrip(".")
    faults = []
    for part, (name, setting) in zip(body.split("; "), settings.items(), strict=False):
        if not part.startswith(f"{name} "):
            faults.append(f"{name} is not said: {part}")
            continue
        grades = " to ".join(dict.fromkeys([*setting["grades"][:1], *setting["grades"][-1:]]))
        wanted = [f"bufferbloat grade {grades}"] if setting["grade"] else []
        if setting["call"]:
            score, users = _call(setting)
            wanted.append(f"a call has MOS {score} ({users})")
        faults += [f"{name}: {words} is not said: {part}" for words in wanted if words not in part]
        page = re.search(r"a page loads in (.*)", part)
        if (page is None) != (setting["page_s"] is None or setting["half"]["page"] >= setting["page_s"]):
            faults.append(f"{name}: a page in {setting['page_s']} s: {part}")
        elif page is not None:
            faults += _near(f"{name}: a page", page[1], _with(setting["page_s"], setting["half"]["page"]))
    return faults


def _commands(text: str, parts: Sequence[Mapping[str, Any]]) -> list[str]:
    """
    The commands of each recommended setting stand below its link, and the way back with them.

    Where it depends on a preference, those of the other setting do.
    """
    faults = []
    depends = any(
        sentence["subject"] == "FQ-CoDel" and "depends on what you prefer" in sentence["text"]
        for part in parts
        for sentence in part["sentences"]
    )
    for part in parts:
        recommended = part["other"] if depends else part["recommended"]
        if recommended is None or not recommended["tc"]:
            continue
        what = "the other queue, if you prefer it" if depends else "it"
        where = recommended["place"] or (part["link"] if len(parts) > 1 else "")
        place = rf"{',' * depends} at {re.escape(where)}" if where else ""
        block = re.search(
            rf"^to set {what}{place} \((.*)\):\n((?:  .*\n)+)to undo it:\n((?:  .*\n)+)", text, re.MULTILINE
        )
        printed = [[line[2:] for line in lines.splitlines()] for lines in block.groups()[1:]] if block else None
        if block and ("arrive" in block[1]) != ("ingress" in recommended["tc"]):
            faults.append(f"commands at {part['link']}, {block[1]}: {printed}")
        if printed != [recommended["tc"].splitlines(), recommended["undo"].splitlines()]:
            faults.append(f"commands at {part['link']}: {printed}")
    return faults


def _following(text: str, answer: Mapping[str, Any]) -> list[str]:
    """What a shaper that follows a link gives is printed as it is, and its commands have its rates."""
    faults = []
    for shaper in answer["following"]:
        said = re.search(
            rf"^No commands of tc alone for {re.escape(shaper['link'])}: (.*with one that does.*)$",
            text,
            re.MULTILINE | re.IGNORECASE,
        )
        now_last = [shaper["goodput_bps"], *shaper["others_goodput_bps"].values(), shaper["one_way_p50_s"]]
        now_last += [shaper["one_way_p99_s"], *([shaper["lost"]] if said and "are lost" in said[1] else [])]
        words = said[1].replace("99 % within", "") if said else ""
        faults += _near(
            f"a shaper before {shaper['link']}", words, [value for pair in now_last for value in pair[::-1]]
        )
        block = re.search(rf"^to set it before {re.escape(shaper['link'])}[ ,].*:\n((?:  .*\n)+)", text, re.MULTILINE)
        for name, rate in zip(("min", "base", "max"), shaper["rates_bps"], strict=True):
            if block and f"{name}_ul_shaper_rate_kbps={rate / 1e3:.0f}\n" not in block[1]:
                faults.append(f"{name} of the shaper before {shaper['link']} is {rate / 1e3:.0f} kbit/s: {block[1]}")
    return faults
