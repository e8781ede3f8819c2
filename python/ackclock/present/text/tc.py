"""Notes on queues in the words of tc and of devices."""

from __future__ import annotations

from typing import Final

STATEMENTS: Final = {
    "fixed-in-linux": "{place}: {value} here, {linux} in Linux, which tc does not change",
    "no-split-gso": "{place}: {key}: left out: no-split-gso; packets are single segments",
    "link-header": "{place}.link_header: {value} here; Ethernet devices have {header} B",
    "cake-capacity": (
        "{place}.capacity: {value} is left out: cake in Linux has a limit of memory alone, which memory_limit sets"
    ),
    "no-circuits": "left out: {node} has no circuits",
    "no-parent": "{place}: left out: {kind} at {parent}, where there is no class",
    "police": "{place}: left out: police, which drops packets of a filter; a link can have a policer",
    "no-policer": "left out: the policer of {link}, which drops before this queue",
    "no-class": "{file}: {packets} have no class: they go around the queue, and are left out",
    "not-redirected": (
        "{dev}: what arrives at an interface must be redirected to it; of --dev LINK=ifb4DEV the commands do so for DEV"
    ),
    "assumed-rate": "without --rate, an interface of {rate} is assumed for {links}",
    "without-rate": "left out: {device}, whose queue has no rate of its own: --rate gives it one",
    "stab": (
        "{place}: {device}: left out: overhead {overhead}, mpu {mpu}: a full packet counts {size} B here, {counted} B "
        "there"
    ),
    "marked": 'packets of "{flows}" must carry the mark {mark}: nft or iptables set it',
    "not-in-sqm": "left out: {link}, which has no shaper: sqm-scripts set none without a rate",
    "red-room": "{place}.capacity: red counts bytes; {packets} of {packet:g} B are {bytes}",
    "red-bandwidth": (
        "{place}: red: bandwidth {given} is left out: here the average of an empty queue ages at the rate of the link, "
        "{rate:rate}"
    ),
    "red-weight": "{place}.weight: {weight:.4g} is 2^-{exponent} in tc: the kernel has powers of two",
    "sqm-bursts": "{place}: burst and quantum are those of {script}",
    "rates-above": (
        "{queue}: rates of classes, {rates:rate} together, are more than {whose} has, {above:rate}: all at once do not "
        "get theirs"
    ),
    "rate-above": (
        "{queue}: {kind} lets {rate:rate} through, more than the line's {line:rate}: packets wait behind it"
    ),
    "disabled": "{place}: left out: the section is not enabled",
    "cake-mq": (
        "{place}: cake_mq: read as cake, as on a device with one queue; of several, each busy one has an equal part of "
        "the rate (Linux 7.0)"
    ),
    "fwmark": (
        "{place}: cake: left out: fwmark {mask}: packets have no marks here, so that the code point chooses the tin; "
        "give marked flows a dscp of theirs"
    ),
    "list-ends": "what tc class show ... parent {handle} prints, too (the list of all classes ends at an sfb)",
    "unshaped": "{file}:{line}: {device} is not shaped",
    "inner-curve": (
        "{place}: class {handle}: left out: a real-time curve above other classes, which Linux does not use"
    ),
    "no-default": "{place}: default {handle} is no class with a queue: such packets go out unshaped",
    "pfifo-fast": "{place}: pfifo_fast: each of its bands has room for {packets} packets here",
    "code-before": (
        "{place}: packets with {codes} that match {match}, too, go to the class of this match here, and by what export "
        "writes; in these filters to that of the code point, whose filter comes first"
    ),
    "whole-bytes": "{place}.rate: whole bytes a second in tc",
    "unprinted": (
        "{place}: {kind}: tc prints no {words} here (tc -d prints ewma and probability): the usual ones are taken"
    ),
    "red-bytes": "min, max, limit: bytes with the {header} of the Ethernet header: a packet is {packet}",
    "red-average": "the average is avg += (queue - avg) 2^-n, n = {exponent}, which tc computes from burst",
    "ios-weight": (
        "weighting constant n: average = old (1 - 2^-n) + queue 2^-n, here n = {exponent}; above the maximum all is "
        "dropped"
    ),
}
