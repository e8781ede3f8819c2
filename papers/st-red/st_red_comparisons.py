"""What chapter 3 of Chen's thesis says when it compares AQMs, tried on a network of ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from st_red_review import BOUNDS, RED, SEEDS, link, shorter, trace, with_queue
from st_red_tables import LEAST_STABLE

from ackclock import Result
from ackclock.paper import Lab, spread

KEPT = {"capacity": "200 packets"}
QUEUES: Mapping[str, Mapping[str, Any]] = {
    "RED": RED | BOUNDS,
    "ARED": RED | BOUNDS | {"aqm": "adaptive-red"},
    "Auto-Tuning RED": RED | BOUNDS | {"aqm": "auto-tuning-red"},
    "PI": KEPT | {"aqm": "pi", "a": 1.822e-4, "b": 1.816e-4, "reference": "40 packets"},
    "REM": KEPT | {"aqm": "rem", "reference": "40 packets", "ecn": True},
    "BLUE": KEPT | {"aqm": "blue"},
    "AVQ": KEPT | {"aqm": "avq", "ecn": True},
}
NETWORKS: Mapping[str, Mapping[str, Any]] = {
    "as it is": {},
    "160 flows": {"flows.count": 160},
    "100 Mbit/s and 400 ms": {"link.rate": "100 Mbit/s", "flows.rtt": "uniform 320 ms .. 480 ms"},
}
MORE: Mapping[str, Mapping[str, Any]] = {
    "PI, ECN": QUEUES["PI"] | {"ecn": True},
    "REM, drops": QUEUES["REM"] | {"ecn": False},
    "RED, ECN, 50 packets": QUEUES["RED"] | {"ecn": True, "capacity": "50 packets"},
    "BLUE, ECN, 50 packets": QUEUES["BLUE"] | {"ecn": True, "capacity": "50 packets"},
}


def swings(results: list[Result]) -> list[float]:
    """Return the deviation of the queue over its mean, for each seed."""
    queues = [trace(result, "queue_packets") for result in results]
    return [float(queue.std() / queue.mean()) for queue in queues]


def compared(lab: Lab) -> None:
    """Forty flows at 20 Mbit/s and 100 ms; four times the flows; twenty times the bandwidth-delay product."""
    base = lab.scenario("review")
    scenarios = {
        (name, network): shorter(lab, with_queue(base, queue).with_(dict(keys)))
        for network, keys in NETWORKS.items()
        for name, queue in QUEUES.items()
    }
    scenarios |= {(name, "as it is"): shorter(lab, with_queue(base, queue)) for name, queue in MORE.items()}
    results_of = lab.run(scenarios, seeds=lab.pick(SEEDS, 1), trace_links=True)
    mean = {key: link(results, "queue_packets_mean") for key, results in results_of.items()}
    swing = {key: swings(results) for key, results in results_of.items()}
    lab.table(
        "Mean queue (packets), its deviation over the mean, utilisation and loss (%), mean over the seeds",
        ["AQM", "network", "queue", "deviation", "utilisation", "loss"],
        [
            [
                *key,
                f"{mean[key]:.1f}",
                f"{np.mean(swing[key]):.2f}",
                f"{100 * link(results, 'utilization'):.2f}",
                f"{100 * link(results, 'loss'):.2f}",
            ]
            for key, results in results_of.items()
        ],
    )
    tuned = [name for name in QUEUES if name != "RED"]
    moved = {name: abs(np.log(mean[name, "160 flows"] / mean[name, "as it is"])) for name in QUEUES}
    lab.claim(
        "the queue of each of the six changes by a smaller factor than RED's where the flows are four times as many",
        all(moved[name] < moved["RED"] for name in tuned),
        ours="; ".join(
            f"{name} {mean[name, 'as it is']:.0f} to {mean[name, '160 flows']:.0f} packets" for name in QUEUES
        ),
        printed="more robust than RED, especially under varying traffic load (3.8)",
        exact=True,
    )
    large = "100 Mbit/s and 400 ms"
    steady = [name for name in tuned if min(swing[name, large]) < LEAST_STABLE]
    lab.claim(
        "twenty times the bandwidth-delay product: the queue of each of the six deviates by more than 0.71 of its mean",
        not steady,
        ours="; ".join(f"{name} {spread(swing[name, large], '{:.2f}')}" for name in tuned),
        printed="neither of them can keep the system stable (3.8)",
    )
    loss = {name: 100 * link(results_of[name, "as it is"], "loss") for name in ("PI", "ARED", *MORE)}
    lab.claim(
        "PI with drops loses more than ARED, at the same reference",
        loss["PI"] > loss["ARED"],
        ours=f"{loss['PI']:.2f} % at {mean['PI', 'as it is']:.1f} packets; {loss['ARED']:.2f} % at "
        f"{mean['ARED', 'as it is']:.1f}",
        printed="removing the threshold of RED may result in a higher loss rate (3.4.3)",
        exact=True,
    )
    use = {
        name: 100 * link(results_of[name, "as it is"], "utilization") for name in ("PI", "PI, ECN", "REM", "REM, drops")
    }
    for marks, drops, text in (
        ("PI, ECN", "PI", "performs better with ECN than without (3.4.3)"),
        ("REM", "REM, drops", "does not work well if networks are dominated by dropping (3.5.4)"),
    ):
        lab.claim(
            f"{drops.partition(',')[0]} uses the link better where it marks than where it drops",
            use[marks] > use[drops],
            ours=f"{use[marks]:.2f} and {use[drops]:.2f} %",
            printed=text,
            exact=True,
        )
    blue, red = loss["BLUE, ECN, 50 packets"], loss["RED, ECN, 50 packets"]
    lab.claim(
        "a buffer of 50 packets, with ECN: BLUE loses less than RED",
        blue < red,
        ours=f"{blue:.3f} and {red:.3f} %",
        printed="a small buffer size to keep lower loss rate than RED (3.6.3)",
        exact=True,
    )
    lab.claim(
        "AVQ with ECN: a shorter mean queue than the others, less loss than RED, and a utilisation of 97 % or more",
        mean["AVQ", "as it is"] == min(mean[name, "as it is"] for name in QUEUES)
        and link(results_of["AVQ", "as it is"], "loss") < link(results_of["RED", "as it is"], "loss")
        and link(results_of["AVQ", "as it is"], "utilization") >= 0.97,
        ours=f"{mean['AVQ', 'as it is']:.1f} packets, {100 * link(results_of['AVQ', 'as it is'], 'loss'):.2f} %, "
        f"{100 * link(results_of['AVQ', 'as it is'], 'utilization'):.2f} %",
        printed="low queuing delay, low loss rate and high link utilization (3.7.3)",
    )
    lab.note(
        "The thesis reviews these schemes without a network, so nothing of this counts. Byte mode of ARED (3.2.4), "
        "Auto-Tuning RED without limits of its probability (3.3.5) and the tuning of AVQ (3.7.3) are not tried."
    )
