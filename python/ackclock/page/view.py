"""What a browser shows: controls at the left, figures at the right."""

from __future__ import annotations

import asyncio
import html
import io
import math
import secrets
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import panel as pn
from bokeh.models import (
    ColumnDataSource,
    DataRange1d,
    HoverTool,
    Label,
    LinearColorMapper,
    NumeralTickFormatter,
    Range1d,
)
from bokeh.plotting import figure
from tornado.web import RequestHandler

from .. import _core
from ..errors import AckclockError, ScenarioError
from ..plot import style
from ..plot._data import thin
from ..result import Result
from ..scenario import Scenario
from ..stability import Chart
from . import model
from .jobs import HEAVY, QUICK, SLOW, Latest
from .model import Control, Packets, Quick, Stale, Windows, World

SETTLED: Final = 250
"""Milliseconds without a move after which the heavy part begins."""
FILES: Final = ("scenario.toml", "figure.svg", "data.parquet", "data.csv")
TYPES: Final = {
    "toml": "application/toml",
    "svg": "image/svg+xml",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
}
CALM, SWINGING, NONE = "#e3eff8", "#f0a868", "#ffffff"
"""Of the chart: they differ in lightness, for grey print, and between blue and orange, for colour-blind readers."""
POINTS: Final = 1500
"""Of a line on the page."""

CSS: Final = """
:host, body { font-family: system-ui, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
h1 { margin: 0; font-size: 20px; line-height: 1.25; }
h2 { margin: 10px 0 0; font-size: 13px; color: #444; border-bottom: 1px solid #bbb; }
p { margin: 2px 0; font-size: 15px; line-height: 1.4; color: #1a1a1a; }
.quiet { color: #555; font-size: 12px; }
.answer { border-left: 4px solid #0072b2; background: #f4f8fb; padding: 6px 10px; }
.answer.swinging { border-left-color: #d55e00; background: #fdf3ec; }
.wrong { border: 1px solid #a33d00; border-left-width: 6px; background: #fff6f0; padding: 6px 10px;
  white-space: pre-wrap; font-size: 13px; overflow-wrap: anywhere; }
table { border-collapse: collapse; font-size: 13px; font-variant-numeric: tabular-nums; width: 100%; }
th, td { padding: 1px 0 1px 8px; text-align: right; white-space: nowrap; }
th:first-child { text-align: left; }
th { font-weight: 600; color: #444; }
thead th { border-bottom: 1px solid #888; }
tbody th { font-weight: normal; color: #1a1a1a; }
a { color: #00558a; margin-right: 12px; white-space: nowrap; font-size: 13px; }
"""

_OPEN: dict[str, Page] = {}
"""Pages that browsers show, by the secret in the addresses of their downloads."""


class Download(RequestHandler):
    """Files of a page; made outside the thread that serves browsers."""

    async def get(self, token: str, name: str) -> None:
        """Answer with the file, or 404 where the page or the data is not there."""
        page = _OPEN.get(token)
        if page is None:
            self.send_error(404, reason="this page is no longer open")
            return
        try:
            data = await asyncio.get_running_loop().run_in_executor(QUICK, page.export, name)
        except (AckclockError, LookupError) as error:
            self.set_status(404)
            self.finish(f"{name}: {error}")
            return
        self.set_header("Content-Type", TYPES[name.rpartition(".")[2]])
        self.set_header("Content-Disposition", f'attachment; filename="ackclock-{name}"')
        self.set_header("Cache-Control", "no-store")
        self.finish(data)


class Page:
    """The page of one user."""

    @classmethod
    def open(cls, base: Scenario, most: int) -> Any:
        """Return the content of a new page, or the refusal of one page too many."""
        if len(_OPEN) >= most:
            return pn.pane.HTML(f"<p>There are {most} pages open, which is all this server takes. Close one.</p>")
        page = cls(base)
        _OPEN[page.token] = page
        pn.state.on_session_destroyed(lambda _: page.close())
        return page.layout

    def __init__(self, base: Scenario) -> None:
        self.token = secrets.token_hex(16)
        self.world = World(base)
        self.second = "count"
        self._document = pn.state.curdoc
        self._generation = 0
        self._stale = threading.Event()
        self._settled: Any = None
        self._quick_jobs, self._heavy_jobs, self._slow_jobs = Latest(QUICK), Latest(HEAVY), Latest(SLOW)
        self._closed = False
        self._filling = False
        self.quick: Quick | None = None
        self.packets: Packets | None = None
        self.windows: Windows | None = None
        self.chart: Chart | None = None
        self._charted = ""
        self._words = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS])
        self._wrong = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS], visible=False)
        self._numbers = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS], min_height=150)
        self._sliders: dict[str, Any] = {}
        self._figures()
        self.layout = self._layout()
        self._ask()

    def close(self) -> None:
        """Give up everything: the browser has gone."""
        self._closed = True
        self._stale.set()
        self._quick_jobs.drop()
        self._heavy_jobs.drop()
        self._slow_jobs.drop()
        _OPEN.pop(self.token, None)

    # controls

    def _layout(self) -> Any:
        tree = self.world.base.canonical
        self._congestion = pn.widgets.Select(
            name="Congestion control",
            options=model.kinds("congestion"),
            value=tree["flows"][0]["congestion"]["kind"],
            width=260,
        )
        self._aqm = pn.widgets.Select(
            name="Queue management", options=model.kinds("aqm"), value=tree["link"][0]["queue"].get("aqm"), width=260
        )
        self._congestion.param.watch(lambda event: self._kind("congestion", event.new), "value")
        self._aqm.param.watch(lambda event: self._kind("aqm", event.new), "value")
        self._axis = pn.widgets.Select(name="Chart: round-trip time against", options=["count"], width=260)
        self._axis.param.watch(lambda event: self._choose_axis(event.new), "value")
        self._of_link, self._of_aqm, self._of_congestion = (pn.Column(width=275, margin=0) for _ in range(3))
        self._text = pn.widgets.TextAreaInput(
            value=self.world.scenario.to_toml(), max_length=2 * model.MOST_BYTES, height=260, width=255
        )
        use = pn.widgets.Button(name="Use this", button_type="primary", width=100)
        fill = pn.widgets.Button(name="Show the present one", width=140)
        use.on_click(lambda _: self._use(self._text.value))
        fill.on_click(lambda _: self._show_text())
        self._refresh_sliders()
        links = " ".join(f'<a href="download/{self.token}/{name}" download>{name}</a>' for name in FILES)
        left = pn.Column(
            pn.pane.HTML("<h2>Link and flows</h2>", stylesheets=[CSS], width=270),
            self._of_link,
            pn.pane.HTML("<h2>Queue</h2>", stylesheets=[CSS], width=270),
            self._aqm,
            self._of_aqm,
            pn.pane.HTML("<h2>TCP</h2>", stylesheets=[CSS], width=270),
            self._congestion,
            self._of_congestion,
            pn.pane.HTML("<h2>Chart</h2>", stylesheets=[CSS], width=270),
            self._axis,
            pn.pane.HTML(f"<h2>Download</h2><p>{links}</p>", stylesheets=[CSS], width=270),
            pn.Card(
                self._text, pn.Row(use, fill), title="Scenario as text", collapsed=True, width=275, hide_header=False
            ),
            width=290,
            styles={"border-right": "1px solid #ccc", "padding-right": "8px"},
        )
        name = html.escape(self.world.base.name)
        right = pn.Column(
            pn.pane.HTML(
                f"<h1>{name}</h1><p class='quiet'>ackclock {_core.VERSION}. Blue: averages (fluid and mean field); "
                "dark grey: packet by packet. Averages follow a slider at once, packets and windows when it rests.</p>",
                stylesheets=[CSS],
                sizing_mode="stretch_width",
            ),
            self._wrong,
            self._words,
            pn.Row(self._queue_figure, self._chart_figure, sizing_mode="stretch_width"),
            pn.Row(self._phase_figure, self._window_figure, sizing_mode="stretch_width"),
            self._numbers,
            sizing_mode="stretch_width",
            min_width=900,
        )
        return pn.Row(left, right, sizing_mode="stretch_width")

    def _slider(self, control: Control) -> Any:
        unit = f" {control.unit}" if control.unit else ""
        options = {f"{value:g}{unit}": value for value in control.grid}
        slider = pn.widgets.DiscreteSlider(
            name=control.label, options=options, value=control.value, width=255, margin=(2, 8)
        )
        slider.param.watch(lambda event: self._move(control, event.new), "value")
        self._sliders[control.key] = control, slider
        return slider

    def _refresh_sliders(self, *groups: str) -> None:
        scenario = self.world.scenario
        for group, column in (("link", self._of_link), ("aqm", self._of_aqm), ("congestion", self._of_congestion)):
            if groups and group not in groups:
                continue
            prefix = {"link": "", "aqm": "queue.", "congestion": "congestion."}[group]
            for key in [key for key in self._sliders if key.startswith(prefix) and (prefix or "." not in key)]:
                del self._sliders[key]
            controls = model.link_controls(scenario) if group == "link" else model.parameter_controls(scenario, group)
            column.objects = [self._slider(control) for control in controls]
        names = {"Flows": "count", "Link rate": "rate"}
        names |= {
            f"{control.key.partition('.')[0].replace('queue', self._kind_now('aqm'))}: {control.label}": key
            for key, (control, _) in self._sliders.items()
            if "." in key
        }
        self._axis.options = names
        if self.second not in names.values():
            self._axis.value = "count"

    def _kind_now(self, group: str) -> str:
        tree = self.world.scenario.canonical
        return str(tree["link"][0]["queue"]["aqm"] if group == "aqm" else tree["flows"][0]["congestion"]["kind"])

    def _move(self, control: Control, value: float) -> None:
        if not self._filling:
            self._change(self.world.with_(**{control.key: control.text(value)}))

    def _kind(self, group: str, kind: str) -> None:
        """Another algorithm: the parameters of the old one go."""
        if self._filling:
            return
        prefix = "queue." if group == "aqm" else "congestion."
        old = {key: None for key in self.world.changes if key.startswith(prefix)}
        if self._change(self.world.with_(**{**old, group: kind})):
            self._refresh_sliders(group)
            self._place_dot()

    def _choose_axis(self, key: str) -> None:
        self.second = key or "count"
        self._place_dot()
        self._ask()

    def _use(self, text: str) -> None:
        """Take a scenario that was typed."""
        try:
            base = model.read(text)
        except ScenarioError as error:
            self._complain(error)
            return
        self._filling = True
        try:
            self.world = World(base)
            tree = base.canonical
            self._aqm.value = tree["link"][0]["queue"]["aqm"]
            self._congestion.value = tree["flows"][0]["congestion"]["kind"]
            self._refresh_sliders()
        finally:
            self._filling = False
        self._change(self.world)

    def _show_text(self) -> None:
        self._text.value = self.world.scenario.to_toml()

    def _complain(self, error: Exception) -> None:
        self._wrong.object = f"<div class='wrong' role='alert'>{html.escape(str(error))}</div>"
        self._wrong.visible = True

    def _change(self, world: World) -> bool:
        """Take a new world if it is right; say what is wrong with it if not, and keep the figures of the old one."""
        self.world = world
        self._place_dot()
        try:
            _ = world.scenario
        except (ScenarioError, KeyError) as error:
            self._stale.set()
            self._complain(error)
            return False
        self._wrong.visible = False
        self._ask()
        return True

    # computing

    def _ask(self) -> None:
        self._generation += 1
        self._stale.set()
        stale = self._stale = threading.Event()
        world, generation = self.world, self._generation
        self._quick_jobs.ask(partial(self._compute_quick, world, generation))
        if self._settled is not None:
            self._document.remove_timeout_callback(self._settled)

        def settled() -> None:
            self._settled = None
            second = self.second
            self._heavy_jobs.ask(partial(self._compute_heavy, world, second, generation, stale))

        self._settled = self._document.add_timeout_callback(settled, SETTLED)

    def _tell(self, generation: int, show: Callable[[], None]) -> None:
        """Let the thread that serves browsers show something, unless the user has gone on."""

        def if_wanted() -> None:
            if generation == self._generation:
                self._shown(show)

        if not self._closed:
            self._document.add_next_tick_callback(if_wanted)

    def _shown(self, show: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            show()
        except Exception as error:  # whatever it is, the page goes on
            self._complain(_bug(error))

    def _compute_quick(self, world: World, generation: int) -> None:
        try:
            found = model.quick(world.scenario)
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))
            return

        # of a slider that still moves the last answer but one is worth showing too
        if not self._closed:
            self._document.add_next_tick_callback(partial(self._shown, partial(self._show_quick, found)))

    def _compute_heavy(self, world: World, second: str, generation: int, stale: threading.Event) -> None:
        watch = model.watching(stale)
        run = None
        try:
            try:
                found = model.packets(world, watch)
                run = found.result
                self._tell(generation, partial(self._show_packets, world, found))
            except (TimeoutError, AckclockError) as error:
                self._tell(generation, partial(self._complain, error))
            charted = model.identity(world, ("rtt", second)) + second + world.base.to_json()
            if charted != self._charted:
                self._chart(world, second, generation, watch, charted)
            watch()
            self._slow_jobs.ask(partial(self._compute_windows, world, run, generation, stale))
        except Stale:
            return
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))

    def _compute_windows(self, world: World, run: Result | None, generation: int, stale: threading.Event) -> None:
        try:
            found = model.windows(world, run, model.watching(stale))
        except Stale:
            return
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))
            return
        self._tell(generation, partial(self._show_windows, found))

    def _chart(self, world: World, second: str, generation: int, watch: Callable[[], None], charted: str) -> None:
        try:
            chart = model.chart(world, second, self._span(second), watch)
        except (AckclockError, ValueError) as error:
            self._tell(generation, partial(self._show_chart, None, second, "", str(error).splitlines()[0]))
            return
        self._tell(generation, partial(self._show_chart, chart, second, charted, ""))

    def _span(self, second: str) -> tuple[float, float]:
        """The range of the chart's second axis, in the units of the equations."""
        control, _ = self._sliders[second]
        scale = _scale(control)
        return scale * control.grid[0], scale * control.grid[-1]

    # figures

    def _figures(self) -> None:
        self._queue_figure = _figure("Queue over time", "time (s)", "queue (packets)")
        self._packet_line = _line(self._queue_figure, "#555555", 1.0, "packets")
        self._fluid_line = _line(self._queue_figure, style.BLUE, 2.0, "fluid average")
        _legend(self._queue_figure)
        self._queue_figure.y_range = DataRange1d(start=0, range_padding=0.1)

        self._phase_figure = _figure("Fluid trajectory: window against queue", "window of a flow (packets)", "queue")
        self._phase_figure.yaxis.axis_label = "queue (packets)"
        self._phase_line = _line(self._phase_figure, style.BLUE, 1.5, "from empty queues")
        self._rest = ColumnDataSource({"x": [], "y": []}, name="rest")
        self._phase_figure.scatter(
            "x", "y", source=self._rest, marker="x", size=12, line_width=3, color=style.VERMILION,
            legend_label="equilibrium",
        )  # fmt: skip
        _legend(self._phase_figure, "top_left")

        self._window_figure = _figure("Windows of the flows", "window (packets)", "density (1/packet)")
        self._bins = ColumnDataSource({"left": [], "right": [], "top": []}, name="bins")
        self._window_figure.quad(
            left="left", right="right", top="top", bottom=0, source=self._bins,
            fill_color="#c4c4c4", line_color="#8a8a8a", legend_label="packets, counted",
        )  # fmt: skip
        self._density_line = _line(self._window_figure, style.BLUE, 2.0, "mean field")
        _legend(self._window_figure)
        self._window_figure.y_range = DataRange1d(start=0, range_padding=0.1)
        self._window_note = Label(
            x=8, y=4, x_units="screen", y_units="screen", text="", text_font_size="12px", text_color="#444444"
        )
        self._window_figure.add_layout(self._window_note)

        self._chart_figure = _figure(
            "Where the queue is calm", "round-trip time (ms)", "", x_axis_type="log", y_axis_type="log"
        )
        self._chart_figure.x_range = Range1d(0.87, 1150)
        self._chart_figure.y_range = Range1d(0.87, 575)
        self._cells = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []}, name="cells")
        self._chart_figure.image(
            "image", "x", "y", "dw", "dh", source=self._cells,
            color_mapper=LinearColorMapper([NONE, CALM, SWINGING], low=-1.5, high=1.5),
        )  # fmt: skip
        self._border = ColumnDataSource({"xs": [], "ys": []}, name="border")
        self._chart_figure.multi_line("xs", "ys", source=self._border, color=style.BLACK, line_width=1.5)
        self._regions = ColumnDataSource({"x": [], "y": [], "text": []}, name="regions")
        self._chart_figure.text(
            "x", "y", "text", source=self._regions, text_align="center", text_baseline="middle",
            text_font_size="14px", text_color="#222222",
        )  # fmt: skip
        self._dot = ColumnDataSource({"x": [], "y": [], "fill": []}, name="dot")
        self._chart_figure.scatter(
            "x", "y", source=self._dot, size=15, fill_color="fill", line_color="#000000", line_width=2.5
        )
        self._chart_note = Label(
            x=8, y=4, x_units="screen", y_units="screen", text="", text_font_size="12px", text_color="#444444"
        )
        self._chart_figure.add_layout(self._chart_note)
        self._chart_figure.add_tools(HoverTool(tooltips=[("RTT", "$x ms"), ("", "$y")]))

    def _place_dot(self) -> None:
        """Put the dot where the sliders are: no computing is needed for that."""
        control, slider = self._sliders[self.second]
        _, rtt = self._sliders["rtt"]
        self._dot.data = {"x": [float(rtt.value)], "y": [float(slider.value)], "fill": [self._dot_fill()]}
        self._chart_figure.yaxis.axis_label = control.label + (f" ({control.unit})" if control.unit else "")
        ends = control.grid[0] / 1.15, control.grid[-1] * 1.15
        if (self._chart_figure.y_range.start, self._chart_figure.y_range.end) != ends:
            self._chart_figure.y_range.update(start=ends[0], end=ends[1])

    def _dot_fill(self) -> str:
        if self.quick is None or self.quick.stable is None:
            return "#ffffff"
        return style.BLUE if self.quick.stable else style.VERMILION

    def _show_quick(self, found: Quick) -> None:
        self.quick = found
        run = found.run
        if run is None:
            self._fluid_line.data = {"x": [], "y": []}
            self._phase_line.data = {"x": [], "y": []}
        else:
            queue = _of(run.traces["queue"], "link", self.world.link)
            window = _of(run.traces["window"], "class", self.world.flows)
            times = run.traces["time"].to_numpy()
            self._fluid_line.data = {"x": times, "y": queue}
            self._phase_line.data = {"x": window, "y": queue}
        at = found.equilibrium
        rest = None if at is None else at.state.get(f"{self.world.link}.queue")
        self._rest.data = (
            {"x": [], "y": []} if at is None or rest is None else {"x": [at.window[self.world.flows]], "y": [rest]}
        )
        self._place_dot()
        self._show_words()
        self._show_numbers()

    def _show_packets(self, world: World, found: Packets) -> None:
        self.packets = found
        traces = found.result.traces
        values = traces["link_queue_packets"].sel(link=world.link).to_numpy().astype(float)
        times, queue = thin(traces["time"].to_numpy().astype(float), values, POINTS // 2)
        self._packet_line.data = {"x": times, "y": queue}
        histogram = model.counted(world, found.result)
        if histogram is None:
            self._bins.data = {"left": [], "right": [], "top": []}
        else:
            edges, heights = histogram
            self._bins.data = {"left": edges[:-1], "right": edges[1:], "top": heights}
        self._show_words()
        self._show_numbers()

    def _show_chart(self, chart: Chart | None, second: str, charted: str, reason: str) -> None:
        self._charted = charted
        self.chart = chart
        if second != self.second:
            return
        empty: dict[str, list[Any]] = {"image": [], "x": [], "y": [], "dw": [], "dh": []}
        self._chart_note.text = _folded(reason, 70)
        if chart is None:
            self._cells.data, self._border.data = empty, {"xs": [], "ys": []}
            self._regions.data = {"x": [], "y": [], "text": []}
            return
        control, _ = self._sliders[second]
        x, y = np.log10(1e3 * chart.first), np.log10(chart.second / _scale(control))
        unstable = chart.unstable
        cells = np.where(unstable < 0, -1.0, np.where(unstable == 0, 0.0, 1.0)).T
        half = 0.5 * (x[1] - x[0]), 0.5 * (y[1] - y[0])
        ends = [10 ** (x[0] - half[0]), 10 ** (y[0] - half[1]), 10 ** (x[-1] + half[0]), 10 ** (y[-1] + half[1])]
        self._cells.data = {
            "image": [cells],
            "x": [ends[0]],
            "y": [ends[1]],
            "dw": [ends[2] - ends[0]],
            "dh": [ends[3] - ends[1]],
        }
        self._border.data = _borders(x, y, cells)
        self._regions.data = _names(x, y, cells)

    def _show_windows(self, found: Windows) -> None:
        self.windows = found
        self._window_note.text = _folded(found.reason, 70)
        places, density = found.field if found.field is not None else (np.empty(0), np.empty(0))
        if found.counted is not None and places.size:
            # the largest window may be far beyond those that occur
            inside = places <= max(1.5 * found.counted[0][-1], 4.0)
            places, density = places[inside], density[inside]
        self._density_line.data = {"x": places, "y": density}
        self._show_numbers()

    def _show_words(self) -> None:
        lines = []
        if self.packets is not None:
            lines.append(f"<p><b>{html.escape(self.packets.sentence)}</b></p>")
        if self.quick is not None:
            lines.append(f"<p>{html.escape(self.quick.sentence)}</p>")
        calm = "" if self.quick is None or self.quick.stable is not False else " swinging"
        self._words.object = f"<div class='answer{calm}'>{''.join(lines)}</div>"

    def _show_numbers(self) -> None:
        self._numbers.object = _table(self.world, self.quick, self.packets, self.windows)

    # downloads

    def export(self, name: str) -> bytes:
        """
        Return a file: the scenario as it is now, the figures or the traces of the last run.

        Raises
        ------
        LookupError
            If there is no run yet.
        """
        if name == "scenario.toml":
            return self.world.scenario.to_toml().encode()
        if self.packets is None:
            raise LookupError("nothing was computed yet; try again in a moment")
        from . import export

        if name == "figure.svg":
            return export.figures(self.world, self.quick, self.packets, self.chart, self.windows)
        out = io.BytesIO()
        if name == "data.parquet":
            import pyarrow.parquet as pq

            pq.write_table(self.packets.result.to_arrow(), out)
            return out.getvalue()
        return export.table(self.world, self.quick, self.packets).to_csv(index=False).encode()


def _bug(error: Exception) -> Exception:
    sys.stderr.write(f"ackclock serve: a bug, please report it: {type(error).__name__}: {error}\n")
    return RuntimeError(f"A bug, please report it: {type(error).__name__}: {error}")


def _scale(control: Control) -> float:
    """What turns a slider's number into the unit of the equations."""
    return {"ms": 1e-3, "Mbit/s": 1e6}.get(control.unit, 1.0)


def _figure(title: str, x: str, y: str, **options: Any) -> Any:
    made = figure(
        title=title,
        height=285,
        sizing_mode="stretch_width",
        tools="pan,wheel_zoom,box_zoom,reset",
        x_axis_label=x,
        y_axis_label=y,
        output_backend="canvas",
        min_width=420,
        **options,
    )
    made.toolbar.autohide = True
    made.toolbar.logo = None
    made.title.text_font_size = "14px"
    made.xgrid.visible = False
    made.ygrid.grid_line_color = "#dddddd"
    made.outline_line_color = None
    for axis in (*made.xaxis, *made.yaxis):
        axis.axis_label_text_font_style = "normal"
        axis.axis_label_text_font_size = "13px"
        axis.major_label_text_font_size = "12px"
        if "x_axis_type" in options:
            axis.formatter = NumeralTickFormatter(format="0[.][00000]")
    return made


def _line(on: Any, color: str, width: float, label: str) -> ColumnDataSource:
    source = ColumnDataSource({"x": [], "y": []}, name=label)
    on.line("x", "y", source=source, color=color, line_width=width, legend_label=label)
    return source


def _legend(on: Any, place: str = "top_right") -> None:
    on.legend.location = place
    on.legend.label_text_font_size = "12px"
    on.legend.padding, on.legend.margin, on.legend.spacing = 4, 4, 0
    on.legend.background_fill_alpha = 0.75
    on.legend.border_line_color = None


def _of(values: Any, dimension: str, name: str) -> Any:
    names = [str(one) for one in values[dimension].to_numpy()]
    return values.isel({dimension: names.index(name) if name in names else 0}).to_numpy()


def _borders(x: Any, y: Any, cells: Any) -> dict[str, list[Any]]:
    """Lines between calm and not calm."""
    from contourpy import contour_generator

    known = np.ma.masked_where(cells < 0, cells)
    lines = contour_generator(x, y, known).lines(0.5)
    return {"xs": [10.0 ** line[:, 0] for line in lines], "ys": [10.0 ** line[:, 1] for line in lines]}


def _names(x: Any, y: Any, cells: Any) -> dict[str, list[Any]]:
    """The names of the regions in their middles."""
    found: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for value, text in ((0.0, "calm"), (1.0, "oscillates"), (-1.0, "no equilibrium")):
        rows, columns = np.nonzero(cells == value)
        if rows.size < 0.04 * cells.size:
            continue
        # the cell of the region that is nearest to its middle
        nearest = int(np.argmin((rows - rows.mean()) ** 2 + (columns - columns.mean()) ** 2))
        column = min(max(int(columns[nearest]), 3), len(x) - 4)
        found["x"].append(float(10 ** x[column]))
        found["y"].append(float(10 ** y[rows[nearest]]))
        found["text"].append(text)
    return found


def _folded(text: str, width: int) -> str:
    import textwrap

    return "\n".join(textwrap.wrap(text, width))


def _table(world: World, quick: Quick | None, packets: Packets | None, windows: Windows | None) -> str:
    """What each engine says of the queue, in numbers."""
    columns: dict[str, dict[str, str]] = {"average law at rest": {}, "packet by packet": {}, "mean field": {}}
    at = quick.equilibrium if quick is not None else None
    if at is not None and quick is not None:
        column = columns["average law at rest"]
        column["queue (packets)"] = _packets(at.state.get(f"{world.link}.queue"))
        column["loss or marks"] = f"{at.probability[world.link]:.3%}"
        column["window (packets)"] = _packets(at.window.get(world.flows))
        column["round trip"] = _milliseconds(at.rtt.get(world.flows))
        if quick.margins is not None:
            margins = quick.margins
            delay = _milliseconds(margins.delay) or "any"
            column["margins: gain, phase, delay"] = f"{margins.gain:.3g}, {margins.phase:.3g}°, {delay}"
    if packets is not None:
        column = columns["packet by packet"]
        everyone: dict[Any, Any] = packets.result.classes.loc["all"].to_dict()
        column["queue (packets)"] = _packets(packets.queue)
        column["loss or marks"] = f"{packets.loss:.3%}"
        column["window (packets)"] = _packets(float(everyone["cwnd_mean"]))
        column["round trip"] = _milliseconds(float(everyone["rtt_s_mean"]))
        column["delay p50, p99"] = f"{1e3 * packets.delay_p50:.3g}, {1e3 * packets.delay_p99:.3g} ms"
        column["utilisation"] = f"{packets.utilization:.2%}"
        column["simulated"] = f"{packets.result.end:g} s"
    if windows is not None and windows.result is not None:
        tree = windows.result.json()
        link = next(iter(tree["links"].values()))
        flows = tree["flows"].get(world.flows) or next(iter(tree["flows"].values()))
        column = columns["mean field"]
        column["queue (packets)"] = _packets(link["queue_packets_mean"])
        column["loss or marks"] = f"{link['loss'] + link['marks']:.3%}"
        column["window (packets)"] = _packets(flows["window_mean"])
        column["utilisation"] = f"{link['utilization']:.2%}"
    names = list(dict.fromkeys(name for column in columns.values() for name in column))
    head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
    rows = ""
    for engine, column in columns.items():
        if column:
            cells = "".join(f"<td>{html.escape(column.get(name, ''))}</td>" for name in names)
            rows += f"<tr><th>{engine}</th>{cells}</tr>"
    notes = "".join(f"<p class='quiet'>{html.escape(note)}.</p>" for note in (quick.notes if quick else ()))
    table = f"<table><thead><tr><th></th>{head}</tr></thead><tbody>{rows}</tbody></table>"
    return f"<div style='overflow-x: auto'>{table}</div>{notes}"


def _packets(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{value:.4g}"


def _milliseconds(value: float | None) -> str:
    return "" if value is None or not math.isfinite(value) else f"{1e3 * value:.3g} ms"
