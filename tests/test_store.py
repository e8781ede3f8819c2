"""Stores of sweeps that others have used, damaged or left half written, and what a query may do with them."""

import random
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import ackclock as ac
from ackclock import SweepError
from ackclock.questions.sweep import Store, SweepInterrupted, axis, metric_names, plan
from conftest import interrupted, processor_time

TINY = """
[scenario]
name = "tiny"
duration = "1 s"
seed = 3
[[link]]
name = "bottleneck"
rate = "2 Mbit/s"
queue = { aqm = "drop-tail", capacity = "20 packets" }
[[flows]]
count = 2
path = ["bottleneck"]
congestion = "reno"
rtt = "20 ms"
"""


@pytest.fixture
def tiny() -> ac.Scenario:
    return ac.loads(TINY)


def points(store: Path) -> list[Path]:
    return sorted((store / "points").glob("*.parquet"))


def test_two_sweeps_in_one_store(tiny: ac.Scenario, tmp_path: Path) -> None:
    """The second finds a point of the first, by keys that the first did not vary."""
    ac.sweep(tiny, {"rtt": "20 ms,30 ms"}, store=tmp_path)
    second = ac.sweep(tiny, {"flows.count": "2,3"}, store=tmp_path)
    assert list(second.table["flows.count"]) == [2.0, 3.0]
    assert list(second.table["vary.flows.count"]) == ["2", "3"]
    assert list(second.summary.index) == ["2", "3"]
    third = ac.sweep(tiny, {"flows.rtt": "20 ms,40 ms"}, store=tmp_path)
    assert list(third.table["flows.rtt"]) == [20.0, 40.0]
    assert len(points(tmp_path)) == 4
    # the same value in another unit: the same run, and the row as this sweep writes it
    fourth = ac.sweep(tiny, {"rtt": "0.02 s,0.05 s"}, store=tmp_path)
    assert list(fourth.table["vary.rtt"]) == ["0.02 s", "0.05 s"]
    # a query finds each point by the keys of every sweep that used it, in SI units
    asked = Store(tmp_path).query('SELECT rtt, "flows.count" AS n, "flows.rtt" AS own FROM points ORDER BY ALL')
    assert (0.02, 2.0, 0.02) in set(asked.itertuples(index=False, name=None))
    assert sorted(asked["rtt"].dropna()) == [0.02, 0.03, 0.05]


def test_units_are_kept(tiny: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(tiny, {"rtt": "10ms,1s,0.05s"}, store=tmp_path)
    assert list(done.table["rtt"]) == [10.0, 1000.0, 50.0]
    assert list(done.table["vary.rtt"]) == ["10ms", "1s", "0.05s"]
    assert done.axes[0].unit == "ms"


def damage(kind: str, file: Path, other: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    if kind == "empty":
        data = bytearray()
    elif kind == "truncated":
        data = data[: rng.randrange(1, len(data))]
    elif kind == "foreign":
        data = bytearray(other.read_bytes())
    elif kind == "text":
        data = bytearray(b"key,seed\n1,2\n")
    else:
        for _ in range(8):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    file.write_bytes(bytes(data))


def test_damaged_points_are_computed_again(tiny: ac.Scenario, tmp_path: Path) -> None:
    vary = {"rtt": "20 ms..80 ms:8"}
    store = tmp_path / "store"
    alone = ac.sweep(tiny, vary, store=store)
    assert alone.notes == []
    rng = random.Random(17)
    for kind in ("empty", "truncated", "foreign", "text", "flipped", "flipped", "flipped"):
        there = points(store)
        file, other = rng.sample(there, 2)
        before = file.read_bytes()
        damage(kind, file, other, rng)
        again = ac.sweep(tiny, vary, store=store)
        assert again.table.equals(alone.table), kind
        # flipped bits may lie where nothing is read
        assert kind == "flipped" or len(again.notes) == 1, kind
        for note in again.notes:
            assert re.fullmatch(rf"{file.name} .*: computed again", note)
            assert file.read_bytes() == before
        assert len(points(store)) == 8
    file = points(store)[0]
    file.write_bytes(b"PAR1")
    with pytest.raises(SweepError, match=f"{file.name}: cannot be read"):
        Store(store).query("SELECT 1 FROM points")


def test_a_query_answers_from_whole_files_only(tiny: ac.Scenario, tmp_path: Path) -> None:
    """Of 133 flipped bits 6 changed the table unnoticed, and a folder in place of a file was left out of it."""
    ac.sweep(tiny, {"rtt": "20 ms..40 ms:3"}, store=tmp_path)
    sql = "SELECT * FROM points ORDER BY ALL"
    right = Store(tmp_path).query(sql)
    assert len(right) == 3
    file = points(tmp_path)[1]
    whole, rng = file.read_bytes(), random.Random(5)
    told = 0
    for _ in range(60):
        data = bytearray(whole)
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        file.write_bytes(bytes(data))
        try:
            found = Store(tmp_path).query(sql)
        except SweepError as error:
            told += file.name in str(error) and "computes them again" in str(error)
        else:
            assert found.equals(right)  # the bit lies where nothing is read
            told += 1
    assert told == 60
    file.unlink()
    file.mkdir()
    with pytest.raises(SweepError, match=f"{file.name}: is no file"):
        Store(tmp_path).query(sql)


def test_a_changed_value_is_noticed(tiny: ac.Scenario, tmp_path: Path) -> None:
    """Also one that no metric is: a query would find the point where it is not."""
    import pyarrow.parquet as pq

    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    (file,) = points(tmp_path)
    table = pq.read_table(file)
    for name, value in (("seed", 4), ("rtt", 0.03), ("vary.rtt", "30 ms"), ("scenario", "other")):
        place = table.column_names.index(name)
        changed = table.set_column(place, name, [[value]]).cast(table.schema)
        pq.write_table(changed, file)
        with pytest.raises(SweepError, match="holds other values than were written"):
            Store(tmp_path).query("SELECT 1 FROM points")


def test_sweeps_that_begin_at_once_share_a_new_store(
    tiny: ac.Scenario, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of three, one was refused: the folder held the points of another, which had not yet made its mark."""
    from ackclock.questions.sweep import store as module

    folder, whole_file = tmp_path / "store", module.whole_file

    def slowly(path: Path) -> Any:
        if path.name == "store.json" and not path.exists():
            monkeypatch.setattr(module, "whole_file", whole_file)
            with whole_file(path):  # the other sweep finds this one here
                Store(folder)
        return whole_file(path)

    monkeypatch.setattr(module, "whole_file", slowly)
    assert len(ac.sweep(tiny, {"rtt": "20 ms"}, store=folder).table) == 1
    (folder / "store.json").unlink()
    (folder / "else").touch()
    with pytest.raises(SweepError, match="holds no store of sweeps"):
        Store(folder)


WRITES = """
import sys, time
from pathlib import Path
from ackclock.core.files import whole_file

with whole_file(Path(sys.argv[1])) as beside:
    print(beside, flush=True)
    time.sleep(3600)
"""


def test_what_a_killed_process_left_is_removed_and_nothing_else(tiny: ac.Scenario, tmp_path: Path) -> None:
    """Whoever holds a file still writes it, whatever the number of its process means here."""
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    command = [sys.executable, "-c", WRITES, str(tmp_path / "points" / "abc.parquet")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        used = Path(process.stdout.readline().strip())
        renamed = used.with_name(used.name.replace(str(process.pid), "4194303"))  # its number in another namespace
        used.rename(renamed)
        ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
        assert renamed.exists()
        process.kill()
        process.communicate()
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    assert not renamed.exists()


def test_too_many_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match="this makes 100,000,000 points; a sweep has at most 100,000"):
        plan(tiny, [axis("rtt", "1 ms..2 ms:10000"), axis("rate", "1 Mbit/s..2 Mbit/s:10000")])
    with pytest.raises(SweepError, match="at most 100,000 points"):
        axis("rtt", "1 ms..2 ms:100000000")
    with pytest.raises(SweepError, match="this makes 100,000,000 points"):
        plan(tiny, [axis("rtt", "1 ms..2 ms")], latin=100_000_000)
    with pytest.raises(SweepError, match="this makes 100,000,000 points"):
        ac.sweep(tiny, {"rtt": "20 ms"}, seeds=100_000_000, store=tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_metrics_are_known_before_the_runs(tiny: ac.Scenario, tmp_path: Path) -> None:
    with pytest.raises(SweepError, match=r"near ones are utilization.*\nmetrics are utilization, .*fct_s_p99"):
        ac.sweep(tiny, {"rtt": "20 ms"}, metrics=["utilisation"], store=tmp_path / "store")
    assert not (tmp_path / "store").exists()
    done = ac.sweep(tiny, {"rtt": "20 ms"}, metrics=["delay_s_p99"], store=tmp_path / "store")
    assert sorted(metric_names(tiny)) == sorted(done.metrics)


def test_names_for_people(tiny: ac.Scenario, tmp_path: Path) -> None:
    done = ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    assert done.label("delay_s_p99") == "p99 delay, ms"
    assert done.label("utilization") == "utilisation, %"
    assert done.label("flows.all.jain") == "Jain index"
    shown = done.shown(["utilization", "delay_s_mean"])
    assert list(shown.columns) == ["rtt", "utilisation, %", "mean delay, ms"]
    mean = done.table["links.bottleneck.delay_s_mean"].item()
    assert shown["mean delay, ms"].item() == f"{1e3 * mean:.5g}"


def test_one_count_of_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    """A value in two spellings is two rows of one run, one given twice is one."""
    calls: list[Any] = []
    done = ac.sweep(tiny, {"rtt": "20 ms,20 ms,0.02 s,30 ms"}, store=tmp_path, progress=calls.append)
    assert len(done.points) == len(done.table) == 3
    assert (calls[-1].done, calls[-1].count, calls[-1].computed) == (3, 3, 3)
    assert len(points(tmp_path)) == 2


def test_interrupted(tiny: ac.Scenario, tmp_path: Path) -> None:
    def stop(progress: Any) -> None:
        if progress.computed:
            raise KeyboardInterrupt

    with pytest.raises(SweepInterrupted, match=r"interrupted: 1 of 30 points are kept in .*the same command again"):
        ac.sweep(tiny, {"rtt": "20 ms..50 ms:30"}, store=tmp_path / "store", threads=1, progress=stop)
    # none of these points is ever finished, however late the signal comes
    file, store = tmp_path / "tiny.toml", tmp_path / "endless"
    file.write_text(TINY.replace('"1 s"', '"1000000 s"').replace("2 Mbit", "200 Mbit"), encoding="utf-8")
    words = ["sweep", file, "--vary", "rtt=1ms,2ms,3ms", "--store", store]
    code, _, said = interrupted(words, after="0 of 3 points")
    assert code == 130
    assert f"ackclock: interrupted: 0 of 3 points are kept in {store}" in said.replace("\r\n", "\n")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM read_csv('{file}')",
        "COPY points TO '{file}.csv'",
        "ATTACH '{file}.db'",
        "INSTALL httpfs",
        "SET enable_external_access = true",
        "COPY (SELECT 1) TO '{store}/points/0.parquet'",
    ],
)
def test_queries_reach_nothing_else(tiny: ac.Scenario, tmp_path: Path, sql: str) -> None:
    file, store = tmp_path / "secret", tmp_path / "store"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    ac.sweep(tiny, {"rtt": "20 ms"}, store=store)
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(SweepError):
        Store(store).query(sql.format(file=file, store=store))
    assert sorted(tmp_path.rglob("*")) == before


def test_unsafe_queries_may(tiny: ac.Scenario, tmp_path: Path) -> None:
    file = tmp_path / "table.csv"
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path / "store")
    with pytest.raises(SweepError, match="--unsafe lets it reach files"):
        Store(tmp_path / "store").query(f"SELECT a FROM read_csv('{file}')")
    found = Store(tmp_path / "store").query(f"SELECT a FROM read_csv('{file}')", unsafe=True)
    assert found["a"].tolist() == [1]


def test_endless_query_is_interrupted(tiny: ac.Scenario, tmp_path: Path) -> None:
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    sql = "SELECT count(*) FROM range(10000000000) a, range(1000000) b WHERE a.range % 7 = b.range % 3"
    command = [sys.executable, "-m", "ackclock", "query", sql, "--store", str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        while processor_time(process.pid) < 2 and process.poll() is None:  # the query has begun
            time.sleep(0.05)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert (process.returncode, said) == (130, "ackclock: interrupted\n")


def test_a_store_without_its_folder_of_points(tiny: ac.Scenario, tmp_path: Path) -> None:
    ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path)
    shutil.rmtree(tmp_path / "points")
    assert len(ac.sweep(tiny, {"rtt": "20 ms"}, store=tmp_path).table) == 1
