"""Accurate ECN (RFC 9768) at a sender without a network: the peer's answer to the SYN, ACE and the option."""

from typing import Any

import pytest

import ackclock as ac
from ackclock.endpoint import Endpoint


def sender(feedback: str, congestion: str = "dctcp", syn_ack: tuple[int, int, int] | None = None) -> Endpoint:
    """Ten segments are out at 1 s; the round trip is 100 ms."""
    keys: dict[str, Any] = {"rtt": "50 ms", "style": "linux", "ecn": True, "ecn_feedback": feedback}
    scenario = ac.dumbbell(
        rate="10 Mbit/s", queue="drop-tail", flows=ac.flows(1, congestion, **keys), duration="1 s", seed=1
    )
    endpoint = Endpoint(scenario)
    endpoint.open(1.0, 0.1, syn_ack=None if syn_ack is None else tuple(map(bool, syn_ack)))  # type: ignore[arg-type]
    endpoint.write(1.0, 1000)
    return endpoint


ACCECN = [(0, 1, 0), (0, 1, 1), (1, 0, 0), (1, 1, 0)]
CLASSIC = [(0, 0, 1), (1, 0, 1)]
NOT_ECN = [(0, 0, 0), (1, 1, 1)]


@pytest.mark.parametrize("answer", ACCECN + CLASSIC + NOT_ECN)
@pytest.mark.parametrize("congestion", ["dctcp", "prague", "reno"])
def test_the_answer_to_the_syn_decides(congestion: str, answer: tuple[int, int, int]) -> None:
    """RFC 9768, table 2: what is counted, what is echoed, and who gets no ECN-capable segment."""
    endpoint = sender("accecn", congestion, answer)
    first = endpoint.segments(1.0)
    assert [segment.ecn_capable for segment in first] == [answer not in NOT_ECN] * len(first)
    assert endpoint.info()["cwnd"] == 10
    # ACE goes on from 5 to 6, or ECN-Echo is set: whichever was agreed upon is heard
    ace, ece = (6, False) if answer in ACCECN else (None, True)
    endpoint.acknowledge(1.1, 2, ace=ace, ece=ece)
    # slow start lets the window grow; a mark that is heard takes some of it away
    cwnd = endpoint.info()["cwnd"]
    assert cwnd > 10 if answer in NOT_ECN else cwnd <= 10, cwnd


@pytest.mark.parametrize("answer", CLASSIC + NOT_ECN)
def test_what_was_not_agreed_upon_is_not_heard(answer: tuple[int, int, int]) -> None:
    """ACE's bits of a peer that has not agreed to count mean nothing."""
    endpoint = sender("accecn", "dctcp", answer)
    endpoint.segments(1.0)
    endpoint.acknowledge(1.1, 2, ace=6)
    assert endpoint.info()["ca_state"] == "open"


def test_a_flow_of_rfc_3168_takes_one_answer_only() -> None:
    """Where AccECN was not offered only ECE alone agrees to ECN (RFC 3168, section 6.1.1)."""
    for answer in ACCECN + NOT_ECN + [(1, 0, 1)]:
        assert not any(segment.ecn_capable for segment in sender("auto", "reno", answer).segments(1.0)), answer
    assert all(segment.ecn_capable for segment in sender("auto", "reno", (0, 0, 1)).segments(1.0))


def test_three_bits_may_have_gone_round_and_the_option_tells() -> None:
    """
    An ACK of eight segments whose ACE is what it was: eight marks, or none (RFC 9768, section 3.2.2.5.2).

    The safe side is taken, unless the option says that there was none.
    """
    for feedback, marked, state in (("ace", None, "cwr"), ("accecn", None, "cwr"), ("accecn", 0, "open")):
        endpoint = sender(feedback)
        endpoint.segments(1.0)
        endpoint.acknowledge(1.1, 8, ace=5, marked=marked)
        assert endpoint.info()["ca_state"] == state, (feedback, marked)
    # and the option tells of eight marks where the bits are the same
    endpoint = sender("accecn")
    endpoint.segments(1.0)
    endpoint.acknowledge(1.1, 8, ace=5, marked=8)
    assert endpoint.info()["ca_state"] == "cwr"


def test_ace_has_three_bits() -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="ace is 8, not 0 to 7"):
        sender("accecn").acknowledge(1.1, 2, ace=8)
