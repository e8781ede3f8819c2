"""Answers about stability as sentences and tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, Literal

from ...core._words import counted, digits, listed, quantity
from ...core.units import interval, percent, time
from ...questions.tolerances import TOLERANCES
from ...questions.tolerances import differ as far_apart

if TYPE_CHECKING:
    import pandas as pd

    from ...questions.stability import Answer, Cycle, Discrepancy, LargeSignal, Limit, Stability
    from ...questions.stability.comparison import Assumption
    from ...questions.stability.equilibria import EquilibriumAnalysis
    from ...questions.stability.packets import Difference, PacketCheck, PacketRun

STATEMENTS: Final = {
    "negative-delay": (
        "the computation left the range in which the equations hold: a round trip in it was negative, or longer than "
        "the past that is known"
    ),
    "beyond-limit": "what follows beyond the limit: {error}",
    "cycles-unknown": "cycles beside the stable equilibrium: {error}",
    "no-cycles": "no cycles could be followed from {parameter} = {values}",
    "no-disturbance": "no large disturbance at {parameter} = {value}: {error}",
    "out-of-time": "{what}: not decided in {budget:g} s (--budget)",
    "limits-by-law": (
        "packets were run at the present setting alone: how far a parameter may move is the equations' answer, which "
        "packets may not share; --from packets --vary {parameter}=FROM..TO measures it"
    ),
    "packet-run": "{link}: a packet run of {seconds:time}",
    "one-of-cycle": (
        "the queues are not put beside each other: the equations have the queue of one flow of {flows}, packets those "
        "of all together"
    ),
    "one-of": "packets are not put beside the equations, which have the queue of one flow of {flows}",
}
ASSUMPTIONS = {
    "losses at once": "that packets are lost one by one when the buffer overflows, not by all flows together",
    "no queue": "packets that wait below the capacity",
    "marks at random": "that a threshold marks packets in runs, not at random",
    "no schedules": "the senders' schedule, of which they have the average ({schedules})",
    "mean rates": "that the traffic of {flows} comes and goes (they have its mean rate)",
    "no largest window": "the largest window of {flows}, {count} packets",
    "true base": "that a sender of {flows} takes a queue that it starts over for a part of its path",
    "many flows": "the random fluctuations of {count}",
    "large windows": "the single packets of small windows (those of {flows} have {count})",
    "no timeouts": "timeouts ({count} in {seconds})",
}
LEFT_OUT = "what the equations leave out here (effect not tested): {}"
DIFFERENCES = {
    "oscillates": "whether it oscillates",
    "mean": "the mean queue ({by_law} and {measured} packets)",
    "deviation": "the swing (standard deviation {by_law} and {measured} packets)",
    "signal": "the share of lost or marked packets ({by_law} and {measured})",
}
WITHOUT = {"changes": " without the changes", "stops": " in which no flows stop"}
MOVING = "longer runs would tell, as it still moves"
SWINGING = "longer runs would tell, as it swings for as long as these"
SMALL = {
    True: "it swings regularly, by less than half its mean",
    False: "it swings by less than half its mean; these runs do not tell whether in a cycle or by noise",
}
VERDICTS = {True: "it oscillates", False: "it does not oscillate", None: "whether it oscillates cannot be told"}
PARAMETERS = {
    "rtt": "the RTT",
    "flows.rtt": "the RTT",
    "rate": "the rate",
    "count": "the number of flows",
    "flows": "the number of flows",
    "flows.count": "the number of flows",
}


def equilibrium_text(of: Stability) -> str:
    """Return whether the equilibrium is stable, and its values."""
    verdict = _word(of).replace("tell", "tell whether it is stable")
    lines = [f"{of.name}: {verdict}; .answer() has the limits of its parameters"]
    lines += (f"{name}: {text}" for name, text in equilibrium_lines(of).items())
    return "\n".join([*lines, *(f"note: {idle_links(name)}" for name in of.idle)])


def _word(of: EquilibriumAnalysis) -> str:
    """Return the verdict in a word or two."""
    if of.neutral:
        return "neutral"
    return "stable" if of.stable else "unstable" if of.unstable_roots else "cannot tell"


def equilibrium_lines(of: EquilibriumAnalysis) -> dict[str, str]:
    """Return the lines about an equilibrium: name and value."""
    at = of.equilibrium
    rows: dict[str, str] = {}
    marked = {flow["name"] for flow in of.scenario.canonical["flows"] if flow.get("ecn")}
    for name in at.window:
        rtt, signals = quantity(at.rtt[name], "s"), "loss or marks" if name in marked else "loss"
        text = f"window {digits(at.window[name])} packets, RTT {rtt}, {signals} {_percent(at.loss[name])}"
        rows[f"flows {name}"] = text
    ranges = of.queue_in_packets
    for name, value in at.probability.items():
        queue = at.state.get(f"{name}.queue")
        text = "" if queue is None else f"queue {digits(queue)} packets, "
        if name in ranges:
            least, most = ranges[name]
            text += f"in packets {digits(least)} to {digits(most)} on average (a loss takes a whole decrease), "
        rows[f"link {name}"] = f'{text}loss or marks {_percent(value)}, AQM in region "{at.regimes[name]}"'
    root = of.certified
    if root is None:
        rows["rightmost root"] = "not certified: the equations are too stiff"
    else:
        pair = f" ± {abs(root.imag):.5g}i" if root.imag else ""
        rows["rightmost root"] = f"{root.real:.5g}{pair} 1/s"
    return rows


def facts(answer: Answer) -> dict[str, str]:
    """Return the lines about the equilibrium and the loop: name and value."""
    rows = equilibrium_lines(answer.of)
    margins = answer.margins
    if margins is not None:
        text = f"gain {in_decibels(margins.gain)}" if math.isfinite(margins.gain) else "gain unlimited"
        if math.isfinite(margins.phase):
            text += f", phase {digits(margins.phase)} degrees, delay {quantity(margins.delay, 's')}"
        rows["margins"] = text + (" (unsafe alone)" if answer.unsafe else "")
    run = answer.large_signal
    if run is not None:
        verdict = {True: "settles", False: "keeps oscillating", None: "cannot tell from this run"}[run.settles]
        windows = f"windows {digits(run.window_low)} to {digits(run.window_high)} packets"
        swing = f"queue {digits(run.low)} to {digits(run.high)} packets" if run.queued else windows
        rows["from empty queues"] = f"{verdict}, {f'queue empty, {windows}' if run.empty else swing} at the end"
    return rows


def in_decibels(ratio: float) -> str:
    """Return a gain margin as a factor, and in dB."""
    return f"{digits(ratio)} ({20 * math.log10(ratio):.2f} dB)" if ratio > 0 else digits(ratio)


def equilibria_table(each: Sequence[Stability]) -> pd.DataFrame:
    """Return a table of the equilibria of one scenario, each with its verdict."""
    import pandas as pd

    lines = []
    for analysis in each:
        at, root = analysis.equilibrium, analysis.certified
        queues = [at.state[name] for link in analysis.equations.links if (name := f"{link}.queue") in at.state]
        shown = "not certified" if root is None else f"{root.real:.4g}"
        shown += f" ± {abs(root.imag):.4g}i" if root is not None and root.imag else ""
        lines.append(
            {
                "queue": " ".join(map(digits, queues)),
                "window": " ".join(map(digits, at.window.values())),
                "RTT": " ".join(quantity(value, "s") for value in at.rtt.values()),
                "loss": " ".join(map(_percent, at.loss.values())),
                "verdict": _word(analysis),
                "rightmost root (1/s)": shown,
            }
        )
    return pd.DataFrame(lines, index=pd.RangeIndex(len(lines), name="equilibrium"))


def limits_table(answer: Answer) -> pd.DataFrame:
    """Return a table of the limits."""
    import pandas as pd

    lines = []
    for limit in answer.limits:
        line = {"from": _setting(limit.now, limit), "to": _setting(limit.value, limit), "what": limit.kind}
        line |= {"period": "", "onset": "", "mu2": "", "beta2": "", "beyond": "", "holds to": "", "why": limit.reason}
        if limit.changes:
            roots = limit.unstable_beyond
            line["beyond"] = "stable" if roots == 0 else f"{roots} unstable roots" if roots else "cannot tell"
            line["holds to"] = _setting(limit.holds_to, limit)
        if limit.point is not None and limit.onset is not None:
            line |= {"period": quantity(limit.point.period, "s"), "onset": limit.onset.onset}
            line |= {"mu2": f"{limit.onset.mu2:.4g}", "beta2": f"{limit.onset.beta2:.4g}"}
        lines.append(line)
    table = pd.DataFrame(lines, index=pd.Index([limit.parameter for limit in answer.limits], name="parameter"))
    return table.loc[:, (table != "").any()]


def _percent(value: float) -> str:
    return f"{100 * value:.3f} %" if value < 0.1 else f"{100 * value:.2f} %"  # noqa: PLR2004


def sentence(answer: Answer) -> str:
    """Return the answer: the verdict, how far each parameter may move, and whether margins alone suffice."""
    # a neutral equilibrium is not stable as far as to an end of a range
    limits = [limit for limit in answer.limits if limit.changes or not answer.of.neutral]
    parts = [_verdict(answer), *filter(None, map(_limit, limits))]
    if answer.unsafe:
        parts.append(f"Margins alone are unsafe here: {'; '.join(answer.unsafe)}")
    # the name of a key, such as l.rate, keeps its case
    return " ".join(f"{part if '.' in part.split()[0] else part[0].upper() + part[1:]}." for part in parts)


def headline(answer: Answer, check: PacketCheck | None = None, apart: Discrepancy | None = None) -> str:
    """
    Return the answer of the equations, led by what packets say where these are to be trusted instead.

    Even where packets agree, they were run at the present setting: the limits are the equations' alone.
    """
    lead = ""
    if check is not None and check.trust == "packets":
        run, differences = check.run, {item.what: item for item in check.differences}
        of = f" of {run.link}" if check.several else ""
        where = ", in which" if run.runs > 1 else f": in one run of {time(run.seconds)}"
        if "oscillates" in differences:
            lead = f", in which the queue{of} {'oscillates' if run.oscillates else 'does not oscillate'}"
        elif "mean" in differences:
            lead = f"{where} the mean queue{of} is {_mean(run)} packets, not {digits(differences['mean'].by_law)}"
        elif "deviation" in differences:
            lead = f"{where} the queue{of} is between {_end(run.low)} and {_end(run.high)} packets"
    elif apart is not None and apart.agree is False:
        lead = f', which say "{apart.measured}"'
    return f"{f'Trust the packets{lead}. ' if lead else ''}By the equations: {answer.sentence}"


def unsafe(answer: Answer) -> list[str]:
    """Return why a stable equilibrium and its margins do not make the queue safe."""
    if not answer.of.stable:
        return []
    reasons = []
    run = answer.large_signal
    if run is not None and run.settles is False:
        reasons.append(f"after a large disturbance {run.swing} beside the stable equilibrium")
    for limit in answer.limits:
        if limit.reaches_now is not None and limit.onset is not None:
            size = digits(limit.reaches_now.amplitude(limit.onset.component))
            reasons.append(
                f"a disturbance of {limit.onset.component} by about {size} packets starts an oscillation (across an "
                "unstable limit cycle)"
            )
    for limit in answer.limits:
        if limit.coexist_from is not None and limit.reaches_now is None:
            there = _setting(limit.coexist_from, limit)
            reasons.append(
                f"from {limit.parameter} = {there} on, a large enough disturbance starts an oscillation before the "
                "limit is reached"
            )
    if not reasons and any(limit.onset is not None and not limit.onset.gradual for limit in answer.limits):
        reasons.append(
            "near a sudden onset a large enough disturbance starts an oscillation before the limit is reached"
        )
    return reasons


def _verdict(answer: Answer) -> str:
    roots, run = answer.of.unstable_roots, answer.large_signal
    if roots is None:
        pair = answer.rightmost
        if pair is None:
            return "Cannot tell: the characteristic roots cannot be counted, the equations are too stiff"
        if abs(pair.imag) > 1e3 * abs(pair.real):
            period = quantity(math.tau / abs(pair.imag), "s")
            return f"On the boundary of stability: a pair of roots lies on the imaginary axis (period {period})"
        return "Cannot tell: a characteristic root lies at zero"
    if answer.of.neutral:
        return _neutral(answer.of.rightmost, run)
    text = "Stable" if roots == 0 else "Unstable"
    if roots == 0 and answer.of.schedules:
        text += f" but for the schedule of the senders ({schedules(answer.of.schedules)})"
    if roots and run is not None and run.settles is False:
        whose = "each flow's queue" if answer.of.equations.one_of > 1 else "the queue"
        text += f": {run.swing.replace('the queue', whose, 1)}"
        if math.isfinite(run.period):
            text += f" with a period of {quantity(run.period, 's')}"
    return text


def _neutral(root: complex, run: LargeSignal | None) -> str:
    text = f"Neutral: a small disturbance takes more than an hour to {'fade' if root.real < 0 else 'grow'}"
    return f"{text}; after a large disturbance {run.swing}" if run is not None and run.settles is False else text


def _setting(value: float, limit: Limit) -> str:
    """A value of the parameter that is moved, which may be small."""
    return quantity(value, limit.unit, least=0.0)


def _limit(limit: Limit) -> str:
    name = PARAMETERS.get(limit.parameter, limit.parameter)
    now, there = _setting(limit.now, limit), _setting(limit.value, limit)
    if limit.unstable_now is None:
        return _from_the_boundary(limit, name) if limit.changes else ""
    stable = limit.unstable_now == 0
    ends = sorted((limit.value, limit.holds_to))
    counts = limit.parameter.rpartition(".")[2] in ("count", "flows")
    if limit.changes and counts and math.floor(ends[1]) < ends[0]:
        span = " and ".join(_setting(end, limit) for end in ends)
        return f"{name} has no whole value between {span}, where the equilibrium would {'not ' * stable}be stable"
    if limit.changes:
        return _until_unstable(limit, name, now, there) if stable else _until_stable(limit, name, now, there)
    if limit.kind == "none" and stable:
        return f"{name} may {_verb(limit)} to {there}, {limit.reason}, if disturbances are small"
    way = "up" if limit.upwards else "down"
    then = "stays stable if disturbances are small" if stable else "does not settle"
    text = f"with {name} {way} to {there} the queue {then}"
    return text if limit.kind == "none" else f"{text}; there {limit.reason.partition(';')[0]}"


def _from_the_boundary(limit: Limit, name: str) -> str:
    """From a scenario that lies on a Hopf point."""
    more = "larger" if limit.upwards else "smaller"
    if limit.unstable_beyond == 0:
        return f"with {name} {more} the equilibrium is stable"
    return f"with {name} {more} the queue oscillates"


def _until_unstable(limit: Limit, name: str, now: str, there: str) -> str:
    """From a stable equilibrium to an unstable one."""
    more = _onset(limit)
    run = limit.beyond
    if run is not None and run.settles is False:
        more.append(f"at {_setting(limit.beyond_at, limit)} {run.swing}")
    if limit.point is not None:
        what = f"the queue oscillates with a period of {quantity(limit.point.period, 's')}"
    else:
        what = "the equilibrium is no longer stable"
        more.insert(0, limit.reason or "a real root passes zero")
    return "; ".join([f"{name} may {_verb(limit)} from {now} to {there} before {what}", *more])


def _until_stable(limit: Limit, name: str, now: str, there: str) -> str:
    """From an unstable equilibrium to a stable one."""
    more = [limit.reason] if limit.reason else []
    far = f"{'up' if limit.upwards else 'down'} to {_setting(limit.holds_to, limit)}"
    if limit.settles:
        what = "for the queue to settle"
        more.append(f"the queue is then stable {far}")
    else:
        what = "for the equilibrium to be stable"
        run = limit.beyond
        if run is not None and run.settles is False:
            more.append(f"at {_setting(limit.beyond_at, limit)} from empty queues {run.swing} beside it")
        more.append(f"that holds {far}")
    return "; ".join([f"{name} must {_verb(limit)} from {now} to {there} {what}", *more, *_onset(limit)])


def _onset(limit: Limit) -> list[str]:
    if limit.onset is None:
        return []
    return [f"the onset is {limit.onset.onset} ({'super' if limit.onset.gradual else 'sub'}critical)"]


def _verb(limit: Limit) -> str:
    return "grow" if limit.upwards else "fall"


def swing(run: LargeSignal) -> str:
    """Return the range of the oscillation at the end of a run: of several queues, that of the one that moves most."""
    if run.queued and len(ranges := run.ranges) > 1:
        link, (low, high) = max(ranges.items(), key=lambda item: item[1][1] - item[1][0])
        return f"the queue of {link} oscillates between {digits(low)} and {digits(high)} packets"
    if run.queued and not run.empty:
        return f"the queue oscillates between {digits(run.low)} and {digits(run.high)} packets"
    over = " over an empty queue" if run.empty else ""
    return f"windows oscillate between {digits(run.window_low)} and {digits(run.window_high)} packets{over}"


def schedules(each: Sequence[tuple[str, str, float]]) -> str:
    """Return what senders do by a clock of their own."""
    return ", ".join(f"{what} of flows {name} every {quantity(period, 's')}" for name, what, period in each)


def idle_links(name: str) -> str:
    """Return why a link is not among those judged."""
    return f"link `{name}`: it never fills by the equations, so that they have only its propagation"


def cycle(moved: Cycle) -> str:
    """Return where equations without an equilibrium lead."""
    why = moved.why.removeprefix("no equilibrium: ").rstrip(".")
    text = f"No equilibrium was found: {why}. From empty queues the queue of {moved.link}"
    if moved.rests:
        return f"{text} comes to rest at {digits(moved.mean)} packets, all the same."
    if moved.empty:
        return f"{text} stays empty."
    text += f" moves between {digits(moved.low)} and {digits(moved.high)} packets"
    if math.isfinite(moved.period):
        return f"{text} with a period of {quantity(moved.period, 's')}."
    return f"{text}; no period stands out."


def packet_check(answer: PacketCheck) -> str:
    """Return what the equations and a packet run say, and which to trust."""
    run = answer.run
    mean = f" ({_measured(run)})"
    of = f" of {run.link}" if answer.several else ""
    by_law = answer.oscillates_by_law if answer.beside is None else False
    what = (
        f"{VERDICTS[by_law]} (they have no queue)" if answer.no_queue else _queue(by_law, *answer.range_by_law, of=of)
    )
    text = f"By the equations {what}"
    text += "" if answer.beside is None else f" after a small disturbance; after a large one {swing(answer.beside)}"
    text += ". "
    runs = "a packet run" if run.runs == 1 else f"{run.runs} packet runs"
    text += f"In {runs} of {time(run.seconds)}{''.join(WITHOUT[what] for what in answer.without)} "
    text += f"{_queue(run.oscillates, run.low, run.high, mean, _end, of=of, small=_small(run))}."
    text += "".join(f" {said}" for said in run.beginnings)
    if not answer.compared:
        return f"{text} The equations say nothing that this could be compared with."
    if answer.trust == "both":
        return f"{text} They agree in {listed([DIFFERENCES[what].partition(' (')[0] for what in answer.compared])}."
    if answer.trust == "packets":
        these = "that" if len(answer.differences) == 1 else "these"
        of_what = "" if any(differing.what == "oscillates" for differing in answer.differences) else f" for {these}"
        differ = listed([str(differing) for differing in answer.differences])
        return f"{text} They differ in {differ}; trust the packets{of_what}.{_left_out(answer)}"
    if answer.undecided and not answer.differences:
        in_what = listed([str(open_) for open_ in answer.undecided])
        do_not = "this run does not" if run.runs == 1 else "these runs do not"
        return f"{text} Whether they differ in {in_what} {do_not} tell; --from both measures for longer."
    if run.enough:
        return f"{text} Nothing else differs; --from both runs until the verdict is clear."
    if not answer.differences:
        return f"{text} This run is too short for a verdict; --from both measures for longer."
    differ = listed([str(differing) for differing in answer.differences])
    return (
        f"{text} They differ in {differ}. This run is too short to say which to trust (the queue may still be on its "
        f"way); --from both measures for longer.{_left_out(answer)}"
    )


def _mean(run: PacketRun) -> str:
    """Return the mean queue, with its 95 % interval."""
    return _number(run, "mean")


def _number(run: PacketRun, what: Literal["mean", "deviation"]) -> str:
    """Return a number of packets, with its 95 % interval from a hundredth of it on."""
    value, half = run.value(what), run.halves.get(what, math.nan)
    return interval(value, half, "number") if value / 100 < half < math.inf else digits(value)


def _end(packets: float) -> str:
    """Return an end of a range that runs with different seeds have on average, in whole packets."""
    return f"{packets:.0f}"


def _measured(run: PacketRun) -> str:
    """Return the mean queue and its standard deviation; of a number that these runs do not tell, that."""
    names: dict[Literal["mean", "deviation"], str] = {"mean": "mean", "deviation": "standard deviation"}
    known = [f"{name} {_number(run, what)}" for what, name in names.items() if run.known(what)]
    unknown = [name for what, name in names.items() if not run.known(what)]
    if unknown:
        known.append(f"{listed(unknown)} not known: {MOVING if set(run.moving) & set(names) else SWINGING}")
    return ", ".join(known)


def _left_out(answer: PacketCheck) -> str:
    """A sentence about what the equations leave out, if that is known."""
    left_out = LEFT_OUT.format("; ".join(map(str, answer.assumptions)))
    return f" {left_out[0].upper()}{left_out[1:]}." if answer.assumptions else ""


def _small(run: PacketRun) -> str:
    """Return what a motion is that has a period, but is too small for an oscillation; empty where noise drives it."""
    if run.oscillates is not False or math.isnan(run.period) or run.regular is False:
        return ""
    return SMALL[bool(run.regular)]


def _queue(
    oscillates: bool | None,
    low: float,
    high: float,
    mean: str = "",
    end: Callable[[float], str] = digits,
    *,
    of: str = "",
    small: str = "",
) -> str:
    """Return where a queue is, and whether it oscillates there."""
    verdict = small or VERDICTS[oscillates]
    if math.isnan(low):
        return verdict.replace("it ", f"the queue{of} ", 1)
    if high - low < 1:
        where = f"at {digits(0.5 * (low + high))} packets{mean}"
    else:
        where = f"between {end(low)} and {end(high)} packets{mean}"
    return f"the queue{of} oscillates {where}" if oscillates else f"the queue{of} is {where}; {verdict}"


def difference(item: Difference) -> str:
    """Return in what equations and packets differ, with both numbers."""
    shown = [
        f"{100 * value:.2g} %" if item.what == "signal" else digits(value) for value in (item.by_law, item.measured)
    ]
    return DIFFERENCES[item.what].format(by_law=shown[0], measured=shown[1])


def assumption(item: Assumption) -> str:
    """Return an assumption of the equations that is not kept."""
    return ASSUMPTIONS[item.kind].format(
        count=counted(int(item.count), "flow") if item.kind == "many flows" else digits(item.count),
        flows=item.flows,
        seconds=quantity(item.seconds, "s"),
        schedules=schedules(item.schedules),
    )


def discrepancy(result: Discrepancy) -> list[str]:
    """Return how far equations and a measurement are apart."""
    if result.agree:
        verdicts = f'both say "{result.by_law}"'
    else:
        apart = "" if result.agree is None else "they differ: "
        said = f'"{result.by_law}"'
        said += ' after a small disturbance and "oscillates" after a large one' if result.beside else ""
        verdicts = f'{apart}the equations say {said}, the packets "{result.measured}"'
    numbers = []
    for name, (by_law, number) in result.numbers.items():
        far = f" ({percent(by_law / number - 1, '+')})" if number else ""
        numbers.append(f"{name}: {by_law:.3g} by the equations, {number:.3g} measured{far}")
    left_out = [LEFT_OUT.format(assumption) for assumption in result.assumptions]
    return [verdicts, *numbers, *_trusted(result), *left_out]


def _trusted(result: Discrepancy) -> list[str]:
    """The measures for which the packets are to be trusted, not the equations."""
    apart = [] if result.agree is not False else ["whether it oscillates"]
    for name, (by_law, number) in result.numbers.items():
        measure = name.partition(" (")[0]
        if measure in TOLERANCES and far_apart(measure, number, by_law):
            apart.append(f"the {measure}")
    return [f"trust the packets for {listed(apart)}"] if apart else []
