"""Shared libraries of transports and controllers that a scenario names: how they run, and what goes wrong in them."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import ackclock as ac
from ackclock.core import contained
from ackclock.questions.causes.edits import control
from ackclock.questions.ci import check, read
from ackclock.questions.evaluate.subject import EvaluateError, subject
from ackclock.questions.fair import fair
from ackclock.questions.sweep.axes import axis
from ackclock.questions.sweep.plan import plan

ROOT = Path(__file__).parents[1]
INCLUDE = ROOT / "crates" / "endpoint" / "include"
COMPILER = shutil.which(os.environ.get("CC", "cc"))

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")

SCENARIO = """
[scenario]
name = "own"
duration = "20 s"
measure = "5 s .. 20 s"

[[link]]
name = "bottleneck"
rate = "10 Mbit/s"
delay = "5 ms"
queue = { aqm = "drop-tail", capacity = "50 packets" }

[[flows]]
name = "mine"
path = ["bottleneck"]
rtt = "50 ms"
congestion = { kind = "KIND", library = "LIBRARY", options = "OPTIONS" }

[[flows]]
name = "reno"
path = ["bottleneck"]
rtt = "50 ms"
congestion = "reno"
"""

ENDPOINT = r"""
#include "ackclock.h"
#include <pthread.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static pthread_key_t key;
static void linger(void *value) { (void)value; usleep(200000); }

/* A sender of 100 datagrams/s to a receiver that says nothing; the option names what goes wrong after a second. */
struct end { uint64_t sent, got; int sends; char fault[16]; };

static int connect_(const struct ackclock_setup *setup, void *ends[2], char *error, size_t size)
{
    if (!strcmp(setup->options, "refuse")) { snprintf(error, size, "not today"); return 1; }
    if (!strcmp(setup->options, "linger") && !pthread_key_create(&key, linger)) pthread_setspecific(key, ends);
    for (int k = 0; k < 2; k++) {
        struct end *end = calloc(1, sizeof *end);
        end->sends = k == 0;
        snprintf(end->fault, sizeof end->fault, "%s", setup->options);
        ends[k] = end;
    }
    return 0;
}
static void release(void *end) { free(end); }
static size_t transmit(void *this, uint64_t now, uint8_t *buffer, size_t capacity, uint8_t *ecn)
{
    struct end *end = this;
    int fault = now > 1000000000;
    if (!end->sends || !strcmp(end->fault, "silent") || now < end->sent * 10000000) return 0;
    if (fault && !strcmp(end->fault, "crash")) *(volatile int *)16 = 1;
    if (fault && !strcmp(end->fault, "abort")) abort();
    if (fault && !strcmp(end->fault, "exit")) _exit(3);
    if (fault && !strcmp(end->fault, "hang")) for (;;) __asm__ volatile("");
    if (fault && !strcmp(end->fault, "bounds")) buffer[capacity] = 1;
    if (fault && !strcmp(end->fault, "long")) return capacity + 1;
    if (fault && !strcmp(end->fault, "ecn")) { *ecn = 4; return 1; }
    if (!(fault && !strcmp(end->fault, "endless"))) end->sent++;
    memset(buffer, 7, 1000);
    *ecn = ACKCLOCK_ECT0;
    return 1000;
}
static void take(void *this, uint64_t now, const uint8_t *bytes, size_t length, uint8_t ecn)
{
    (void)now, (void)ecn;
    if (bytes[length - 1] == 7) ((struct end *)this)->got += length;
}
static uint64_t timer(void *this)
{
    struct end *end = this;
    if (!end->sends || !strcmp(end->fault, "silent")) return ACKCLOCK_NONE;
    return strcmp(end->fault, "past") ? end->sent * 10000000 : 0;
}
static void timeout(void *end, uint64_t now) { (void)end, (void)now; }
static uint64_t application(void *this, uint64_t now, uint64_t written)
{
    (void)now, (void)written;
    return ((struct end *)this)->got;
}
static void status(void *this, struct ackclock_status *status)
{
    struct end *end = this;
    if (!strcmp(end->fault, "fail") && end->sent > 100) status->failure = "the peer went away";
}
static const struct ackclock_endpoints table = {
    ACKCLOCK_ABI, sizeof table, "metronome", 28, connect_, release, transmit, take, timer, timeout, application, status,
};
const struct ackclock_endpoints *ackclock_endpoints_v1(void) { return &table; }
"""


def build(folder: Path, name: str, source: Path) -> Path:
    assert COMPILER is not None
    library = folder / f"lib{name}.so"
    command = [
        COMPILER,
        "-O2",
        "-shared",
        "-fPIC",
        "-Wall",
        "-pthread",
        f"-I{INCLUDE}",
        "-o",
        str(library),
        str(source),
    ]
    subprocess.run(command, check=True)
    return library


@pytest.fixture(scope="module")
def aimd(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("aimd"), "aimd", ROOT / "crates" / "endpoint" / "examples" / "aimd.c")


@pytest.fixture(scope="module")
def metronome(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("metronome")
    (folder / "metronome.c").write_text(ENDPOINT)
    return build(folder, "metronome", folder / "metronome.c")


def scenario(library: Path, kind: str, options: str = "") -> ac.Scenario:
    text = SCENARIO.replace("KIND", kind).replace("LIBRARY", library.name).replace("OPTIONS", options)
    return ac.loads(text, origin=str(library.parent / "own.toml"))


def test_a_controller_in_c_shares_with_ours(aimd: Path) -> None:
    own = scenario(aimd, "controller")
    results = [ac.run(own), ac.run(own, general=True), *ac.replicate(own, 2, threads=2)]
    flows = results[0].json()
    assert results[1].json() == flows
    assert results[2].json() == flows
    assert ac.loads(own.to_toml(), origin=str(aimd.parent / "own.toml")) == own
    # two flows of one round trip lock into a phase in drop-tail, of which RED knows nothing
    red = {"aqm": "red", "capacity": "50 packets", "min_threshold": "10 packets", "max_threshold": "40 packets"}
    flows = ac.run(own.with_({"link.bottleneck.queue": red})).json()
    mine, reno = (flows["flows"][name]["goodput_bps"] for name in ("mine", "reno"))
    assert mine + reno > 9e6
    assert 0.5 < mine / reno < 2


def test_datagrams_of_an_endpoint_in_c(metronome: Path) -> None:
    result = ac.run(scenario(metronome, "endpoint"), trace_flows="all")
    assert result.json()["flows"]["mine"]["goodput_bps"] == pytest.approx(100 * 1000 * 8, rel=0.01)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("refuse", "flow 0: endpoint metronome (libmetronome.so): not today"),
        ("fail", "the peer went away"),
        ("past", "next_timeout says 0ns, which has passed"),
        ("endless", "100000 datagrams at one time"),
        ("bounds", "poll_transmit wrote outside its buffer of 1472 bytes"),
        ("long", "poll_transmit returned 1473, more than its buffer's 1472 bytes"),
        ("ecn", "ECN codepoint 4"),
        ("crash", "own: library libmetronome.so crashed (SIGSEGV) at"),
        ("abort", "own: library libmetronome.so crashed (SIGABRT) at"),
        ("exit", "own: library libmetronome.so ended its process (exit code 3) at"),
    ],
)
def test_a_fault_is_told_and_nothing_else_breaks(metronome: Path, fault: str, words: str) -> None:
    with pytest.raises(ac.errors.RunError) as answer:
        ac.run(scenario(metronome, "endpoint", fault))
    assert words in str(answer.value)
    assert ac.run(scenario(metronome, "endpoint")).json()["flows"]["mine"]["goodput_bps"] > 0


def test_a_call_that_does_not_return(metronome: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = contained._Worker

    monkeypatch.setattr(contained, "_Worker", lambda: real(call_cpu_s=0.5))
    monkeypatch.setattr(contained, "_idle", [])
    with pytest.raises(ac.errors.RunError, match=r"libmetronome.so did not return from a call within 0.5 s of proc"):
        ac.run(scenario(metronome, "endpoint", "hang"))


def test_what_a_library_does_as_a_thread_ends(metronome: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contained, "_idle", [])
    for _ in range(2):
        ac.run(scenario(metronome, "endpoint", "linger"))
        with pytest.raises(subprocess.TimeoutExpired):  # it stands, and does not die in code that is gone
            contained._idle[0].process.wait(0.4)
    contained._idle.pop().end()


def test_a_library_is_opened_once_and_again_when_it_has_changed(tmp_path: Path) -> None:
    for goodput, size in ((8e5, "1000"), (4e5, "500")):
        source = tmp_path / "metronome.c"
        source.write_text(ENDPOINT.replace("return 1000;", f"return {size};"))
        built = build(tmp_path, "metronome", source)
        for _ in range(2):
            result = ac.run(scenario(built, "endpoint"))
            assert result.json()["flows"]["mine"]["goodput_bps"] == pytest.approx(goodput, rel=0.01)
            worker = contained._idle[-1].process.pid
            mapped = Path(f"/proc/{worker}/maps")
            assert not mapped.exists() or str(built) in mapped.read_text()


def test_an_endpoint_that_sends_nothing_is_noted(metronome: Path) -> None:
    result = ac.run(scenario(metronome, "endpoint", "silent"))
    assert any('flows "mine", flow 0: endpoint metronome (libmetronome.so) sent nothing' in n for n in result.notes)


def test_what_cannot_be_opened(aimd: Path, metronome: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.so"
    text.write_text("no library")
    for library, kind, words in [
        (aimd, "endpoint", 'its kind is "controller"'),
        (metronome, "controller", 'its kind is "endpoint"'),
        (tmp_path / "none.so", "endpoint", "there is no such file"),
        (text, "endpoint", "text.so: "),
    ]:
        with pytest.raises(ac.ScenarioError, match=words):
            ac.run(scenario(library, kind))


def test_keys_that_an_endpoint_does_not_have(metronome: Path) -> None:
    text = SCENARIO.replace("KIND", "endpoint").replace("LIBRARY", metronome.name).replace("OPTIONS", "")
    with pytest.raises(ac.ScenarioError, match=r"a key of the engine's own TCP"):
        ac.loads(text.replace('rtt = "50 ms"\ncongestion = {', 'rtt = "50 ms"\nrecovery = "reno"\ncongestion = {'))
    with pytest.raises(ac.ScenarioError, match="library: the key is missing"):
        ac.loads(SCENARIO.replace("KIND", "endpoint").replace('library = "LIBRARY", ', ""))


def test_other_engines_refuse_it_by_name(metronome: Path) -> None:
    for engine in (ac.fluid, ac.meanfield):
        with pytest.raises(ac.AckclockError, match="endpoint"):
            engine(scenario(metronome, "endpoint"))


def test_an_endpoint_carries_one_connection_a_flow(metronome: Path) -> None:
    text = SCENARIO.replace("KIND", "endpoint").replace("LIBRARY", metronome.name).replace("OPTIONS", "")
    web = 'traffic = { kind = "http", think = "1 s" }\ncongestion = {'
    with pytest.raises(ac.ScenarioError, match="an endpoint does not carry it"):
        ac.loads(text.replace("congestion = {", web, 1))


def test_a_library_is_named_where_an_algorithm_is(aimd: Path, metronome: Path, tmp_path: Path) -> None:
    controller, other = subject(f"{aimd}:beta=0.6", {}, "rfc"), subject(str(metronome), {}, "linux")
    assert controller.algorithm == {"kind": "controller", "library": str(aimd), "options": "beta=0.6"}
    assert (controller.name, other.name) == ("aimd beta=0.6", "metronome")
    assert "style" not in other.flows(1)
    (tmp_path / "none.so").write_bytes(b"nothing")
    with pytest.raises(EvaluateError, match="exports neither endpoints nor controllers"):
        subject(str(tmp_path / "none.so"), {}, "rfc")
    with pytest.raises(EvaluateError, match="No such file"):
        subject("missing.so:x", {}, "rfc")
    with pytest.raises(EvaluateError, match="the key library is missing"):
        subject({"kind": "controller"}, {}, "rfc")


def test_questions_about_a_library(aimd: Path, metronome: Path) -> None:
    shared = fair(f"{aimd}:beta=0.5", "reno", rtt=("40 ms",), buffer=(1.0,), seeds=1, style="rfc")
    assert shared.controls[0] == "aimd beta=0.5"
    assert 0 < shared.places[0].share < 1
    file = aimd.parent / "ci.toml"
    file.write_text('subject = "libaimd.so"\nonly = ["C.3", "C.5"]', encoding="utf-8")
    verdict = check(read(file))
    assert verdict.passed, str(verdict)
    assert len(verdict.checks) == 4
    whole = scenario(metronome, "endpoint")
    assert [control(flow) for flow in whole.canonical["flows"]] == ["libmetronome.so", "reno"]
    assert "mine" in str(ac.why(whole))


def test_traffic_that_an_endpoint_does_not_carry_makes_a_heading_not_applicable(metronome: Path) -> None:
    answer = ac.evaluate(str(metronome), only=["5.1.5"], quick=True, seeds=2)
    assert "an endpoint does not carry it" in answer.answers[0].sentence


def test_a_store_knows_a_library_by_its_contents(aimd: Path, tmp_path: Path) -> None:
    copy = tmp_path / aimd.name
    keys = []
    for more in (b"", b"built again"):
        copy.write_bytes(aimd.read_bytes() + more)
        points = plan(scenario(copy, "controller"), [axis("scenario.duration", ["20 s"])], seeds=1)
        keys.append(points[0].key)
    assert keys[0] != keys[1]
