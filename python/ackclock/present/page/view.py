"""The page in the browser: controls at the left, figures at the right."""

from __future__ import annotations

import asyncio
import dataclasses
import html
import io
import secrets
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, Final
from urllib.parse import urlencode

import numpy as np
import panel as pn
from bokeh.models import ColumnDataSource, DataRange1d, HoverTool, LinearColorMapper, Range1d
from tornado.web import RequestHandler

from ... import _core
from ...core.errors import AckclockError, ScenarioError
from ...core.result import Result
from ...core.scenario import Scenario
from ...core.series import thin
from ...questions.stability import Chart
from ..plot import style
from . import model
from .figures import Pair, boundaries, empty_figure, legend, line, names, scale, trace_of
from .jobs import HEAVY, QUICK, SLOW, Latest
from .kept import Kept
from .model import Control, Packets, Quick, Stale, Windows, World
from .numbers import table

SETTLED: Final = 250
"""Milliseconds without a move after which the heavy part begins."""
FILES: Final = ("scenario.toml", "figure.svg", "data.parquet", "data.csv")
TYPES: Final = {
    "toml": "application/toml",
    "svg": "image/svg+xml",
    "parquet": "application/vnd.apache.parquet",
    "csv": "text/csv",
}
STABLE, SWINGING, NONE, UNREACHED = "#e3eff8", "#f0a868", "#ffffff", "#dcdcdc"
"""Colours of the chart. They differ in lightness (grey print) and between blue and orange (colour-blind readers)."""
QUICKS: Final[Kept[Quick]] = Kept(32)
PACKETS: Final[Kept[Packets]] = Kept(6)
CHARTS: Final[Kept[Chart]] = Kept(16)
WINDOWS: Final[Kept[Windows]] = Kept(6)
"""Recent answers: another page, or a slider that goes back, asks for the same."""
POINTS: Final = 1500
"""Most points of a line on the page."""

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

DARK: Final = """
@media screen and (prefers-color-scheme: dark) {
  html { color-scheme: dark; background: #14171a; }
  /* everything is drawn in dark ink on white: turn lightness round, keep hues */
  body { min-height: 100vh; background: #fff; filter: invert(.92) hue-rotate(180deg); }
}
"""
"""Style of the document, around all that CSS dresses."""

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
    def open(cls, base: Scenario, most: int, files: str | None) -> Any:
        """Return the content of a new page, or the refusal of one page too many."""
        if len(_OPEN) >= most:
            return pn.pane.HTML(f"<p>There are {most} pages open, which is all this server takes. Close one.</p>")
        page = cls(base, files)
        _OPEN[page.token] = page
        pn.state.on_session_destroyed(lambda _: page.close())
        return page.layout

    def __init__(self, base: Scenario, files: str | None = None) -> None:
        self.files = files
        self.token = secrets.token_hex(16)
        self.world = World(model.explicit(base))
        self.second = "count"
        self._document = pn.state.curdoc
        self._generation = 0
        self._stale = threading.Event()
        self._settled: Any = None
        self._quick_jobs, self._heavy_jobs, self._slow_jobs = Latest(QUICK), Latest(HEAVY), Latest(SLOW)
        self._closed = False
        self._filling = False
        self._typed = False
        self._wanted_axis = "count"
        self.quick: Quick | None = None
        self.packets: Packets | None = None
        self.windows: Windows | None = None
        self.chart: Chart | None = None
        self._charted = ""
        self._words = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS])
        self._wrong = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS], visible=False)
        self._missing = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS], visible=False)
        self._numbers = pn.pane.HTML("", sizing_mode="stretch_width", stylesheets=[CSS], min_height=150)
        self._sliders: dict[str, Any] = {}
        self._written = ""
        self._pinned: tuple[World, str] | None = None
        self._restore()
        self._figures()
        self.layout = self._layout()
        # a page that no browser opens costs no computing
        pn.state.onload(self._ask)

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
        tree = self.world.scenario.canonical
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
            max_length=2 * model.MOST_BYTES, height=260, width=255, sizing_mode="fixed"
        )
        self._show_text()
        use = pn.widgets.Button(name="Use this", button_type="primary", width=100)
        fill = pn.widgets.Button(name="Show the present one", width=140)
        pin = pn.widgets.Button(name="Pin as A", width=120)
        self._unpin = pn.widgets.Button(name="Remove A", width=120, disabled=True)
        pin.on_click(lambda _: self._pin())
        self._unpin.on_click(lambda _: self._forget_pin())
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
            pn.pane.HTML("<h2>Compare</h2>", stylesheets=[CSS], width=270),
            pn.Row(pin, self._unpin),
            pn.pane.HTML(f"<h2>Download</h2><p>{links}</p>", stylesheets=[CSS], width=270),
            pn.Card(
                self._text, pn.Row(use, fill), title="Scenario as text", collapsed=True, width=275, hide_header=False
            ),
            width=290,
            styles={"flex": "0 0 290px"},
        )
        name = html.escape(self.world.base.name)
        right = pn.Column(
            pn.pane.HTML(
                f"<h1>{name}</h1><p class='quiet'>ackclock {_core.VERSION}. Blue: averages (fluid and mean field); "
                "dark grey: packet by packet; dashed: A, what was pinned. Averages follow a slider at once, packets "
                "and windows when it rests. The address keeps what the sliders say.</p>",
                stylesheets=[CSS],
                sizing_mode="stretch_width",
            ),
            self._wrong,
            self._words,
            pn.FlexBox(*self._panels.values(), sizing_mode="stretch_width", gap="8px"),
            self._missing,
            self._numbers,
            sizing_mode="stretch_width",
            styles={"flex": "1 1 560px", "min-width": "0"},
        )
        # side by side, or the controls above the figures where it is narrow
        return pn.FlexBox(left, right, sizing_mode="stretch_width", flex_wrap="wrap", gap="12px")

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
        elif self._wanted_axis in names.values():
            self._filling, before = True, self._filling
            self._axis.value = self.second = self._wanted_axis
            self._filling, self._wanted_axis = before, ""

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
        if self._filling:
            return
        self._place_dot()
        self._follow()
        self._ask()

    def _use(self, text: str) -> None:
        """Take a scenario that was typed."""
        try:
            base = model.read(text, files=self.files)
        except ScenarioError as error:
            self._complain(error)
            return
        self._filling = True
        try:
            self.world = World(model.explicit(base))
            tree = base.canonical
            self._aqm.value = tree["link"][0]["queue"]["aqm"]
            self._congestion.value = tree["flows"][0]["congestion"]["kind"]
            self._refresh_sliders()
        finally:
            self._filling = False
        self._typed = True
        self._change(self.world)

    def _show_text(self) -> None:
        self._written = self.world.scenario.to_toml()
        self._text.value = self._written

    def _follow(self) -> None:
        """Let the text and the address say what the sliders say; what somebody is typing stays."""
        if self._text.value in ("", self._written):
            self._show_text()
        if self._place is not None:
            # a scenario of one's own has no address
            state = (
                {}
                if self._typed
                else {**self.world.changes, **({"axis": self.second} if self.second != "count" else {})}
            )
            self._place.search = f"?{urlencode(state)}" if state else ""

    def _restore(self) -> None:
        """Take what the address says of the sliders."""
        self._place = pn.state.location
        given = {key: values[-1].decode("utf-8", "replace") for key, values in pn.state.session_args.items() if values}
        given = {key: text for key, text in given.items() if not key.startswith("bokeh-")}
        if not given:
            return
        try:
            world = model.restored(self.world, {key: text for key, text in given.items() if key != "axis"})
            _ = world.scenario
        except (ScenarioError, KeyError, ValueError) as error:
            self._complain(ValueError(f"the settings in this URL are invalid and were ignored: {error}"))
            return
        self.world = world
        self._wanted_axis = given.get("axis", "count")

    # A against B

    def _pairs(self) -> list[Pair]:
        return [
            self._packet_line,
            self._fluid_line,
            self._phase_line,
            self._rest,
            self._bins,
            self._density_line,
            self._dot,
        ]

    def _pin(self) -> None:
        """Keep what is shown, dashed, to compare others with it."""
        for pair in self._pairs():
            pair.pin()
        self._pinned = self.world, table(self.world, self.quick, self.packets, self.windows)
        self._unpin.disabled = False
        self._show_numbers()

    def _forget_pin(self) -> None:
        for pair in self._pairs():
            pair.unpin()
        self._pinned = None
        self._unpin.disabled = True
        self._show_numbers()

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
        self._follow()
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

        self._later(if_wanted)

    def _later(self, show: Callable[[], None]) -> None:
        """Let the thread that serves browsers show something, if this browser is still there."""
        if self._closed:
            return
        try:
            self._document.add_next_tick_callback(show)
        except (AttributeError, RuntimeError):
            # Bokeh takes the document apart before it says that the session has ended
            context = self._document.session_context
            if context is not None and not context.destroyed:
                raise

    def _shown(self, show: Callable[[], None]) -> None:
        if self._closed:
            return
        try:
            show()
        except Exception as error:  # whatever it is, the page goes on
            self._complain(_bug(error))

    def _compute_quick(self, world: World, generation: int) -> None:
        try:
            found = QUICKS.get(world.scenario.to_json(), lambda: model.quick(world.scenario))
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))
            return

        # of a slider that still moves the last answer but one is worth showing too
        self._later(partial(self._shown, partial(self._show_quick, found)))

    def _compute_heavy(self, world: World, second: str, generation: int, stale: threading.Event) -> None:
        run = None
        try:
            try:
                found = PACKETS.get(world.scenario.to_json(), lambda: model.packets(world, model.watching(stale)))
                run = found.result
                self._tell(generation, partial(self._show_packets, world, found))
            except (TimeoutError, AckclockError) as error:
                self._tell(generation, partial(self._complain, error))
            charted = model.identity(world, ("rtt", second)) + second + world.base.to_json()
            if charted != self._charted:
                self._chart(world, second, generation, model.watching(stale), charted)
            if stale.is_set():
                return
            self._slow_jobs.ask(partial(self._compute_windows, world, run, generation, stale))
        except Stale:
            return
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))

    def _compute_windows(self, world: World, run: Result | None, generation: int, stale: threading.Event) -> None:
        try:
            found = WINDOWS.get(
                world.scenario.to_json(),
                lambda: model.windows(world, run, model.watching(stale)),
                lambda found: not found.gave_up,
            )
        except Stale:
            return
        except Exception as error:  # whatever it is, the page goes on
            self._tell(generation, partial(self._complain, _bug(error)))
            return
        self._tell(generation, partial(self._show_windows, found))

    def _chart(self, world: World, second: str, generation: int, watch: Callable[[], None], charted: str) -> None:
        try:
            span = self._span(second)
            key = f"{model.identity(world, ('rtt', second))} {second} {span} {world.base.to_json()}"
            chart = CHARTS.get(key, lambda: model.chart(world, second, span, watch))
            # the dot of this world, on the chart that it shares with others
            chart = dataclasses.replace(chart, now=model.present(world, second))
        except (AckclockError, ValueError, TimeoutError) as error:
            self._tell(generation, partial(self._show_chart, None, second, "", str(error).splitlines()[0]))
            return
        self._tell(generation, partial(self._show_chart, chart, second, charted, ""))

    def _span(self, second: str) -> tuple[float, float]:
        """The range of the chart's second axis, in the units of the equations."""
        control, _ = self._sliders[second]
        return scale(control) * control.grid[0], scale(control) * control.grid[-1]

    # figures

    def _figures(self) -> None:
        self._queue_figure = empty_figure("Queue over time", "time (s)", "queue (packets)")
        self._packet_line = line(self._queue_figure, "#555555", 1.0, "packets")
        self._fluid_line = line(self._queue_figure, style.BLUE, 2.0, "fluid average")
        legend(self._queue_figure)
        self._queue_figure.y_range = DataRange1d(start=0, range_padding=0.1)

        self._phase_figure = empty_figure(
            "Fluid trajectory: window against queue", "window of a flow (packets)", "queue"
        )
        self._phase_figure.yaxis.axis_label = "queue (packets)"
        self._phase_line = line(self._phase_figure, style.BLUE, 1.5, "from empty queues")
        self._rest = Pair("rest")
        self._phase_figure.scatter(
            "x", "y", source=self._rest.pinned, marker="x", size=12, line_width=2, color=style.VERMILION, alpha=0.5
        )
        self._phase_figure.scatter(
            "x", "y", source=self._rest.now, marker="x", size=12, line_width=3, color=style.VERMILION,
            legend_label="equilibrium",
        )  # fmt: skip
        legend(self._phase_figure, "top_left")

        self._window_figure = empty_figure("Windows of the flows", "window (packets)", "density (1/packet)")
        self._bins = Pair("bins", "left", "right", "top")
        self._window_figure.quad(
            left="left", right="right", top="top", bottom=0, source=self._bins.pinned,
            fill_alpha=0, line_color="#8a8a8a", line_dash="dashed",
        )  # fmt: skip
        self._window_figure.quad(
            left="left", right="right", top="top", bottom=0, source=self._bins.now,
            fill_color="#c4c4c4", line_color="#8a8a8a", legend_label="packets, counted",
        )  # fmt: skip
        self._density_line = line(self._window_figure, style.BLUE, 2.0, "mean field")
        legend(self._window_figure)
        self._window_figure.y_range = DataRange1d(start=0, range_padding=0.1)
        self._chart_figure = empty_figure(
            "Where the queue is stable", "round-trip time (ms)", "", x_axis_type="log", y_axis_type="log"
        )
        self._chart_figure.x_range = Range1d(0.87, 1150)
        self._chart_figure.y_range = Range1d(0.87, 575)
        self._cells = ColumnDataSource({"image": [], "x": [], "y": [], "dw": [], "dh": []}, name="cells")
        self._chart_figure.image(
            "image", "x", "y", "dw", "dh", source=self._cells,
            color_mapper=LinearColorMapper([NONE, UNREACHED, STABLE, SWINGING], low=-2.5, high=1.5),
        )  # fmt: skip
        self._boundary = ColumnDataSource({"xs": [], "ys": []}, name="boundary")
        self._chart_figure.multi_line("xs", "ys", source=self._boundary, color=style.BLACK, line_width=1.5)
        self._regions = ColumnDataSource({"x": [], "y": [], "text": []}, name="regions")
        self._chart_figure.text(
            "x", "y", "text", source=self._regions, text_align="center", text_baseline="middle",
            text_font_size="14px", text_color="#222222",
        )  # fmt: skip
        self._dot = Pair("dot", "x", "y", "fill")
        self._chart_figure.scatter(
            "x", "y", source=self._dot.pinned, size=15, fill_color=None, line_color="#000000", line_width=1.5,
            line_dash="dashed",
        )  # fmt: skip
        self._chart_figure.scatter(
            "x", "y", source=self._dot.now, size=15, fill_color="fill", line_color="#000000", line_width=2.5
        )
        self._chart_figure.add_tools(HoverTool(tooltips=[("RTT", "$x ms"), ("", "$y")]))
        figures = {
            "queue": self._queue_figure, "chart": self._chart_figure, "phase": self._phase_figure,
            "windows": self._window_figure,
        }  # fmt: skip
        self._panels = {name: pn.pane.Bokeh(made, sizing_mode="stretch_width") for name, made in figures.items()}
        self._reasons: dict[str, str] = {}

    def _place_dot(self) -> None:
        """Put the dot where the sliders are: no computing is needed for that."""
        control, slider = self._sliders[self.second]
        _, rtt = self._sliders["rtt"]
        self._dot.show(x=[float(rtt.value)], y=[float(slider.value)], fill=[self._dot_fill()])
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
            self._fluid_line.show()
            self._phase_line.show()
        else:
            queue = trace_of(run.traces["queue"], "link", self.world.link)
            window = trace_of(run.traces["window"], "class", self.world.flows)
            times = run.traces["time"].to_numpy()
            self._fluid_line.show(x=times, y=queue)
            self._phase_line.show(x=window, y=queue)
        at = found.equilibrium
        rest = None if at is None else at.state.get(f"{self.world.link}.queue")
        if at is None or rest is None:
            self._rest.show()
        else:
            self._rest.show(x=[at.window[self.world.flows]], y=[rest])
        self._present("phase", "No fluid trajectory: it has no average law, or is too stiff." if run is None else "")
        self._place_dot()
        self._show_words()
        self._show_numbers()

    def _show_packets(self, world: World, found: Packets) -> None:
        self.packets = found
        traces = found.result.traces
        values = traces["link_queue_packets"].sel(link=world.link).to_numpy().astype(float)
        times, queue = thin(traces["time"].to_numpy().astype(float), values, POINTS // 2)
        self._packet_line.show(x=times, y=queue)
        histogram = model.counted(world, found.result)
        if histogram is None:
            self._bins.show()
        else:
            edges, heights = histogram
            self._bins.show(left=edges[:-1], right=edges[1:], top=heights)
        self._show_words()
        self._show_numbers()

    def _show_chart(self, chart: Chart | None, second: str, charted: str, reason: str) -> None:
        self._charted = charted
        self.chart = chart
        if second != self.second:
            return
        empty: dict[str, list[Any]] = {"image": [], "x": [], "y": [], "dw": [], "dh": []}
        self._present("chart", f"No chart: {reason}" if chart is None else "")
        if chart is None:
            self._cells.data, self._boundary.data = empty, {"xs": [], "ys": []}
            self._regions.data = {"x": [], "y": [], "text": []}
            return
        control, _ = self._sliders[second]
        x, y = np.log10(1e3 * chart.first), np.log10(chart.second / scale(control))
        unstable = chart.unstable
        cells = np.where(unstable < 0, unstable, np.where(unstable == 0, 0, 1)).T.astype(float)
        half = 0.5 * (x[1] - x[0]), 0.5 * (y[1] - y[0])
        ends = [10 ** (x[0] - half[0]), 10 ** (y[0] - half[1]), 10 ** (x[-1] + half[0]), 10 ** (y[-1] + half[1])]
        self._cells.data = {
            "image": [cells],
            "x": [ends[0]],
            "y": [ends[1]],
            "dw": [ends[2] - ends[0]],
            "dh": [ends[3] - ends[1]],
        }
        self._boundary.data = boundaries(x, y, cells)
        self._regions.data = names(x, y, cells)

    def _show_windows(self, found: Windows) -> None:
        self.windows = found
        empty = found.counted is None and found.field is None
        self._present("windows", found.reason or "No windows were counted." if empty else "")
        self._reason("mean field", found.reason)
        places, density = found.field if found.field is not None else (np.empty(0), np.empty(0))
        if found.counted is not None and places.size:
            # the largest window may be far beyond those that occur
            inside = places <= max(1.5 * found.counted[0][-1], 4.0)
            places, density = places[inside], density[inside]
        self._density_line.show(x=places, y=density)
        self._show_numbers()

    def _show_words(self) -> None:
        lines = []
        if self.packets is not None:
            lines.append(f"<p><b>{html.escape(self.packets.sentence)}</b></p>")
        if self.quick is not None:
            lines.append(f"<p>{html.escape(self.quick.sentence)}</p>")
        mood = "" if self.quick is None or self.quick.stable is not False else " swinging"
        self._words.object = f"<div class='answer{mood}'>{''.join(lines)}</div>"

    def _show_numbers(self) -> None:
        shown = table(self.world, self.quick, self.packets, self.windows)
        if self._pinned is not None:
            world, pinned = self._pinned
            moved = ", ".join(model.differences(world, self.world)) or "the same"
            shown = f"<h2>A, pinned</h2>{pinned}<h2>B: {html.escape(moved)}</h2>{shown}"
        self._numbers.object = shown

    def _present(self, panel: str, reason: str) -> None:
        """Show a figure, or hide one that is empty and say why."""
        if self._panels[panel].visible == bool(reason):
            self._panels[panel].visible = not reason
        self._reason(panel, reason)

    def _reason(self, part: str, reason: str) -> None:
        self._reasons[part] = reason
        lines = [f"<p class='quiet'>{html.escape(text)}</p>" for text in dict.fromkeys(self._reasons.values()) if text]
        self._missing.object = "".join(lines)
        self._missing.visible = bool(lines)

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
