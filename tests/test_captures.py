"""Captures of packets (pcapng), senders' events (qlog) and data files of Flent."""

import gzip
import json
import shutil
import struct
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import ackclock as ac
from ackclock.cli import main

TSHARK = shutil.which("tshark")


class Packet(NamedTuple):
    """A TCP or UDP packet of a capture; times in ns."""

    time: int
    source: int
    target: int
    port: int
    seq: int
    ack: int
    flags: int
    ecn: int
    payload: int
    blocks: tuple[tuple[int, int], ...]
    tcp: bool


def ones(data: bytes, start: int = 0) -> int:
    """Return the sum of RFC 1071, 0xFFFF where a checksum inside is right."""
    padded = data + b"\0" * (len(data) % 2)
    total = start + sum(struct.unpack(f">{len(padded) // 2}H", padded))
    while total > 0xFFFF:
        total = (total & 0xFFFF) + (total >> 16)
    return total


def packets(path: Path) -> Iterator[Packet]:
    """Read a capture, and check lengths and checksums."""
    data, at = path.read_bytes(), 0
    while at < len(data):
        kind, length = struct.unpack_from("<II", data, at)
        assert struct.unpack_from("<I", data, at + length - 4)[0] == length
        if kind == 6:
            _, high, low, captured, original = struct.unpack_from("<5I", data, at + 8)
            yield packet(high << 32 | low, data[at + 28 : at + 28 + captured], original)
        at += length
    assert at == len(data)


def packet(time: int, header: bytes, original: int) -> Packet:
    """Read a packet's headers."""
    (total,) = struct.unpack_from(">H", header, 2)
    assert total == original
    assert ones(header[:20]) == 0xFFFF
    source, target = struct.unpack_from(">II", header, 12)
    tcp = header[9] == 6
    assert ones(header[20:], ones(header[12:20]) + header[9] + total - 20) == 0xFFFF
    if not tcp:
        assert struct.unpack_from(">H", header, 24)[0] == total - 20
        return Packet(time, source, target, 0, 0, 0, 0, header[1] & 3, total - 28, (), tcp)
    port, _, seq, ack, flags = struct.unpack_from(">HHIIH", header, 20)
    assert 20 + 4 * (flags >> 12) == len(header)
    options = header[40:]
    blocks: tuple[tuple[int, int], ...] = ()
    while options:
        size = 1 if options[0] < 2 else options[1]
        if options[0] == 5:
            edges = struct.unpack(f">{(size - 2) // 4}I", options[2:size])
            blocks = tuple(zip(edges[::2], edges[1::2], strict=True))
        options = options[size:]
    return Packet(time, source, target, port, seq, ack, flags & 0x1FF, header[1] & 3, total - len(header), blocks, tcp)


def data_of(captured: list[Packet]) -> list[Packet]:
    """Return the packets with payload that go to receivers."""
    return [packet for packet in captured if packet.tcp and packet.source < packet.target and packet.payload > 0]


def scenario(flows: Any, **keys: Any) -> ac.Scenario:
    """Two flows over a short queue, measured from the beginning."""
    queue = keys.pop("queue", {"aqm": "drop-tail", "capacity": "30 packets"})
    return ac.dumbbell(
        rate="10 Mbit/s", delay="5 ms", queue=queue, flows=flows, duration="8 s", measure="0 s .. 8 s", **keys
    )


def total(result: ac.Result, key: str) -> int:
    """Return a number of all flows."""
    return int(result.flows[key].sum())


SCENARIOS = {
    "sack": lambda: scenario(ac.flows(2, "reno", rtt="40 ms")),
    "linux": lambda: scenario(ac.flows(2, "cubic", rtt="40 ms", style="linux")),
    "newreno": lambda: scenario(ac.flows(2, "reno", rtt="40 ms", recovery="newreno")),
    "transfers": lambda: scenario(ac.flows(4, rtt="40 ms", traffic={"kind": "transfer", "size": "123456 B"})),
}


@pytest.mark.parametrize("name", SCENARIOS)
def test_packets_are_those_of_the_engine(name: str, tmp_path: Path) -> None:
    tree = SCENARIOS[name]()
    path = tmp_path / "a.pcapng"
    result = ac.run(tree, captures=[ac.Pcap(path)])
    assert result.json() == ac.run(tree).json()
    captured = list(packets(path))
    assert [packet.time for packet in captured] == sorted(packet.time for packet in captured)
    data = data_of(captured)
    assert 0 <= total(result, "sent") - len(data) <= 10, "what is on the access at the end is not seen"
    copies = Counter((packet.source, packet.port, packet.seq) for packet in data)
    assert abs(sum(copies.values()) - len(copies) - total(result, "retransmissions")) <= 2
    # every ACK is of what has passed, and SACK blocks lie above it
    high: dict[int, int] = {}
    acks = 0
    for packet in captured:
        if packet.source < packet.target:
            high[packet.target] = max(high.get(packet.target, 0), packet.seq + packet.payload + (packet.flags & 2) // 2)
        else:
            acks += 1
            assert packet.ack <= high[packet.source]
            for begin, end in packet.blocks:
                assert begin < end <= high[packet.source]
    assert acks > len(data) / 3
    assert any(packet.blocks for packet in captured) == (name != "newreno")
    assert not any(packet.ecn for packet in captured)


def test_a_transfer_ends_at_its_last_byte(tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    ac.run(SCENARIOS["transfers"](), captures=[ac.Pcap(path)])
    captured = list(packets(path))
    end = 1 + 85 * 1460  # whole segments
    assert max(packet.ack for packet in captured) == end
    assert max(packet.seq + packet.payload for packet in data_of(captured)) == end


def test_marks_and_their_echo(tmp_path: Path) -> None:
    tree = scenario(ac.flows(2, "cubic", rtt="40 ms", ecn=True), queue={"aqm": "codel", "ecn": True})
    entry, leaving = tmp_path / "entry.pcapng", tmp_path / "exit.pcapng"
    result = ac.run(tree, captures=[ac.Pcap(entry), ac.Pcap(leaving, point="exit")])
    assert not any(packet.ecn == 3 for packet in packets(entry)), "marks are made inside"
    captured = list(packets(leaving))
    assert abs(sum(packet.ecn == 3 for packet in data_of(captured)) - total(result, "marks")) <= 2
    assert total(result, "marks") > 0
    syn, answer = (next(packet.flags for packet in captured if packet.flags & 0x12 == bits) for bits in (0x02, 0x12))
    assert (syn, answer) == (0x0C2, 0x052)
    assert any(packet.flags & 0x40 for packet in captured if packet.source > packet.target and packet.flags & 2 == 0)
    assert any(packet.flags & 0x80 for packet in data_of(captured)), "CWR"


def test_accurate_ecn(tmp_path: Path) -> None:
    tree = scenario(ac.flows(1, "prague", rtt="20 ms"), queue={"scheduler": "dualpi2", "capacity": "1000 packets"})
    path = tmp_path / "a.pcapng"
    result = ac.run(tree, captures=[ac.Pcap(path, point="exit")])
    captured = list(packets(path))
    assert {packet.ecn for packet in data_of(captured)} == {1, 3}
    syn, answer = (next(packet.flags for packet in captured if packet.flags & 0x12 == bits) for bits in (0x02, 0x12))
    assert (syn, answer) == (0x1C2, 0x092), "RFC 9768, table 2"
    ace = [packet.flags >> 6 & 7 for packet in captured if packet.source > packet.target and not packet.flags & 2]
    steps = sum((b - a) % 8 for a, b in zip([5, *ace], ace, strict=False))
    assert 0 <= total(result, "marks") - steps <= 40, "all marks but those under way"


def test_a_reverse_path_that_is_shared(tmp_path: Path) -> None:
    text = """
[scenario]
duration = "6 s"
measure = "0 s .. 6 s"
[[link]]
name = "down"
rate = "20 Mbit/s"
delay = "5 ms"
queue = { capacity = "40 packets" }
[[link]]
name = "up"
rate = "1 Mbit/s"
delay = "5 ms"
queue = { capacity = "40 packets" }
[[flows]]
name = "x"
count = 2
path = ["down"]
reverse_path = ["up"]
rtt = "40 ms"
[[flows]]
name = "voice"
path = ["down"]
traffic = { kind = "cbr", rate = "64 kbit/s" }
packet_size = "200 B"
rtt = "30 ms"
"""
    tree = ac.loads(text)
    down, up = tmp_path / "down.pcapng", tmp_path / "up.pcapng"
    result = ac.run(tree, captures=[ac.Pcap(down, link="down"), ac.Pcap(up, link="up")])
    assert result.json() == ac.run(tree).json()
    for path in (down, up):
        high: dict[int, int] = {}
        for packet in packets(path):
            if packet.tcp and packet.source < packet.target:
                high[packet.target] = max(
                    high.get(packet.target, 0), packet.seq + packet.payload + (packet.flags & 2) // 2
                )
            elif packet.tcp:
                assert packet.ack <= high[packet.source], "acknowledged before it has passed"
    assert any(not entry.tcp and entry.payload == 172 for entry in packets(down))
    assert any(entry.blocks for entry in packets(up))
    with pytest.raises(ac.CaptureError, match="the scenario has 2 links"):
        ac.run(tree, captures=[ac.Pcap(down)])
    with pytest.raises(ac.CaptureError, match=r'no link "dwn".*down'):
        ac.run(tree, captures=[ac.Pcap(down, link="dwn")])


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
@pytest.mark.parametrize("name", ["sack", "linux", "transfers"])
def test_tshark_finds_nothing_odd(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.pcapng"
    result = ac.run(SCENARIOS[name](), captures=[ac.Pcap(path)])

    odd = {
        "_ws.malformed": 0,
        "tcp.analysis.ack_lost_segment": 0,
        "tcp.analysis.lost_segment": 0,
        "tcp.analysis.window_full": 0,
        "tcp.analysis.retransmission": 0,
        "tcp.analysis.out_of_order": 0,  # what it calls repeated data soon after newer data
    }
    sums = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-e", "ip.checksum.status"]
    fields = [word for name in odd for word in ("-e", name)]
    assert TSHARK is not None
    command = [TSHARK, "-r", path, "-T", "fields", *fields, *sums, "-e", "tcp.checksum.status"]
    for line in subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines():
        *flags, ip, tcp = line.split("\t")
        assert (ip, tcp) in {("1", "1"), ("1", "2")}, "checksums: right, or of a payload that is left out"
        for field, flag in zip(odd, flags, strict=True):
            odd[field] += flag != ""
    again = odd.pop("tcp.analysis.retransmission") + odd.pop("tcp.analysis.out_of_order")
    assert abs(again - total(result, "retransmissions")) <= 2
    assert again > 0
    assert not any(odd.values()), odd


def events(path: Path) -> list[dict[str, Any]]:
    """Return the records of a JSON text sequence."""
    records = path.read_text(encoding="utf-8").split("\x1e")
    assert records[0] == ""
    assert all(record.endswith("\n") for record in records[1:])
    return [json.loads(record) for record in records[1:]]


def test_qlog_tells_what_the_run_does(tmp_path: Path) -> None:
    tree = SCENARIOS["linux"]()
    path = tmp_path / "a.sqlog"
    result = ac.run(tree, captures=[ac.Qlog(path, flow=1)])
    assert result.json() == ac.run(tree).json()
    head, *rest = events(path)
    assert (head["qlog_version"], head["qlog_format"]) == ("0.3", "JSON-SEQ")
    times = [event["time"] for event in rest]
    assert times == sorted(times)
    sent = [event["data"] for event in rest if event["name"] == "transport:packet_sent"]
    row = {key: int(result.flows.loc[1, key]) for key in ("sent", "drops", "retransmissions")}
    assert [event["header"]["packet_number"] for event in sent] == list(range(row["sent"]))
    offsets = Counter(event["frames"][0]["offset"] for event in sent)
    assert sum(offsets.values()) - len(offsets) == row["retransmissions"] > 0
    acked = [
        number
        for event in rest
        if event["name"] == "transport:packet_received"
        for frame in event["data"]["frames"]
        for first, last in frame["acked_ranges"]
        for number in range(first, last + 1)
    ]
    assert len(acked) == len(set(acked)), "each transmission is acknowledged once"
    assert abs(len(acked) + row["drops"] - row["sent"]) < 100, "all but what was lost or is under way"
    windows = [
        event["data"]["congestion_window"]
        for event in rest
        if event["name"] == "recovery:metrics_updated" and "congestion_window" in event["data"]
    ]
    assert windows[0] == 14_600 < max(windows)
    states = [event["data"]["new"] for event in rest if event["name"] == "recovery:congestion_state_updated"]
    assert states[0] == "slow_start"
    assert "recovery" in states


def test_what_has_no_connection_has_no_qlog(tmp_path: Path) -> None:
    voice = scenario(ac.flows(1, name="voice", traffic={"kind": "cbr", "rate": "64 kbit/s"}, rtt="20 ms"))
    for flow, problem in ((0, "no single TCP connection"), (7, "there is no flow 7")):
        with pytest.raises(ac.ScenarioError, match=problem):
            ac.run(voice, captures=[ac.Qlog(tmp_path / "a.sqlog", flow=flow)])
    assert not list(tmp_path.iterdir()), "nothing is left that looks complete"


def test_flent(tmp_path: Path) -> None:
    built = SCENARIOS["sack"]()
    result = ac.run(built, trace_links=True, trace_flows="all")
    first, second = tmp_path / "a.flent.gz", tmp_path / "b" / "a.flent.gz"
    second.parent.mkdir()
    result.flent(first)
    result.flent(second)
    assert first.read_bytes() == second.read_bytes()
    tree = json.loads(gzip.decompress(first.read_bytes()))
    assert tree["version"] == 4
    steps = len(tree["x_values"])
    assert steps == 40, "0.2 s each"
    assert {len(values) for values in tree["results"].values()} == {steps}
    mean = sum(tree["results"]["TCP upload sum"]) / steps
    assert mean == pytest.approx(total(result, "goodput") / 1e6, rel=0.01)
    ping = tree["results"]["Ping (ms) ICMP"]
    assert min(ping) >= 40
    assert max(ping) <= 40 + 30 * 1.2, "a base round trip and a full queue"
    with pytest.raises(ac.AckclockError, match="trace_links"):
        ac.run(built).flent(first)


def test_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "s.toml"
    file.write_text(SCENARIOS["sack"]().to_toml(), encoding="utf-8")
    names = [tmp_path / name for name in ("a.pcapng", "a.sqlog", "a.flent.gz")]
    line = ["run", str(file), "--pcap", str(names[0]), "--qlog", str(names[1]), "--flent", str(names[2])]
    assert main(line) == 0
    assert all(f"written: {name}" in capsys.readouterr().out or name.stat().st_size > 0 for name in names)
    assert main([*line, "--seeds", "2"]) == 2
    assert "hold a single run" in capsys.readouterr().err
    assert main(["run", str(file), "--pcap", str(names[0]), "--pcap-link", "x"]) == 2
    assert 'there is no link "x"' in capsys.readouterr().err
