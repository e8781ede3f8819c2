// Charts of the report, drawn by uPlot from the data beside each figure. Drag to zoom, double-click to go back;
// charts over the same kind of axis move together.
(() => {
  "use strict";
  const groups = new Map();

  const number = (value) => (value == null ? "" : Number(value.toPrecision(4)).toLocaleString("en", { maximumSignificantDigits: 4, useGrouping: false }));

  // the value of a series nearest to a place, as not every series has one there
  const near = (values, at) => {
    for (let k = 0; k < values.length; k++) {
      if (values[at - k] != null) return values[at - k];
      if (values[at + k] != null) return values[at + k];
    }
    return null;
  };

  // 1, 2 and 5 times powers of ten within a logarithmic axis; the powers alone where it is long
  const decades = (min, max) => {
    const first = Math.floor(Math.log10(min)), last = Math.ceil(Math.log10(max)), marks = [];
    for (let power = first; power <= last; power++) {
      for (const part of last - first > 3 ? [1] : [1, 2, 5]) {
        const mark = Number(`${part}e${power}`);
        if (mark >= min && mark <= max) marks.push(mark);
      }
    }
    return marks;
  };

  const joined = (chart) => {
    const tables = chart.series.map((one) => {
      const xs = [], ys = [];
      one.x.forEach((x, k) => {
        if (xs.length && xs[xs.length - 1] === x) ys[ys.length - 1] = one.y[k];
        else { xs.push(x); ys.push(one.y[k]); }
      });
      return [xs, ys];
    });
    return uPlot.join(tables);
  };

  const paths = (one) => {
    if (one.width === 0) return () => null;
    return one.steps ? uPlot.paths.stepped({ align: one.steps }) : uPlot.paths.linear();
  };

  const behind = (chart) => (u) => {
    const { ctx } = u, { left, top, width, height } = u.bbox;
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, top, width, height);
    ctx.clip();
    ctx.fillStyle = "#ececec";
    for (const [from, to] of chart.shades) {
      const a = u.valToPos(from, "x", true), b = u.valToPos(to, "x", true);
      ctx.fillRect(a, top, b - a, height);
    }
    for (const one of chart.upright) {
      const x = u.valToPos(one.at, "x", true);
      ctx.strokeStyle = one.color;
      ctx.lineWidth = devicePixelRatio * one.width;
      ctx.setLineDash(one.dash.map((d) => d * devicePixelRatio));
      ctx.beginPath();
      const [from, to] = one.y ? [one.y[0], one.y.at(-1)].map((y) => u.valToPos(y, "y", true)) : [top, top + height];
      ctx.moveTo(x, from);
      ctx.lineTo(x, to);
      ctx.stroke();
      ctx.fillStyle = "#555555";
      ctx.font = `${11 * devicePixelRatio}px system-ui, sans-serif`;
      const room = ctx.measureText(one.name).width + 8 * devicePixelRatio;
      const tight = chart.upright.some((other) => other.at > one.at && u.valToPos(other.at, "x", true) - x < room);
      ctx.textAlign = tight ? "right" : "left";
      ctx.fillText(one.name, x + (tight ? -4 : 4) * devicePixelRatio, top + height - 5 * devicePixelRatio);
    }
    ctx.setLineDash([]);
    ctx.strokeStyle = chart.series.length ? chart.series[0].color : "#000";
    for (const [x, low, high] of chart.bars) {
      const at = u.valToPos(x, "x", true);
      ctx.beginPath();
      ctx.moveTo(at, u.valToPos(low, "y", true));
      ctx.lineTo(at, u.valToPos(high, "y", true));
      ctx.stroke();
    }
    ctx.restore();
  };

  const moved = (group) => (u) => {
    const { left, width } = u.select;
    if (width === 0) return;
    const min = u.posToVal(left, "x"), max = u.posToVal(left + width, "x");
    u.setSelect({ left: 0, width: 0, top: 0, height: 0 }, false);
    for (const one of group) {
      one.zoomed = true;
      one.setScale("x", { min, max });
    }
  };

  const back = (group) => {
    for (const one of group) {
      one.zoomed = false;
      one.setScale("x", { min: one.whole[0], max: one.whole[1] });
    }
  };

  const draw = (place, chart) => {
    const key = (chart.x.label || "").split(",")[0];
    if (!groups.has(key)) groups.set(key, []);
    const group = groups.get(key);
    // of lines without a name, as an interval's ends, the first stands for all in the legend
    const unnamed = chart.series.findIndex((one) => !one.name && one.x.length > 1);
    const axis = (of) => ({
      ...(of.log ? { splits: (_, __, min, max) => decades(min, max), filter: (_, splits) => splits } : {}),
      label: of.label, labelSize: 20, labelFont: "12px system-ui, sans-serif", font: "11px system-ui, sans-serif",
      stroke: "#1a1a1a", grid: { stroke: "#dddddd", width: 1 }, ticks: { stroke: "#888888", width: 1 },
      values: (_, ticks) => ticks.map((tick) => (tick == null || (of.whole && tick % 1) ? "" : number(tick))),
    });
    const u = new uPlot({
      width: Math.max(place.clientWidth, 240), height: 250, title: "",
      legend: { live: true, markers: { dash: (self, k) => (self.series[k].dash?.length ? "dashed" : "solid") } },
      cursor: {
        drag: { x: true, y: false, setScale: false },
        sync: { key, scales: ["x", null], setSeries: false, filters: { pub: (type) => type === "mousemove" || type === "mouseleave" } },
        bind: { dblclick: () => () => { back(group); return null; } },
      },
      scales: {
        // asked for when all charts have been made: until somebody zooms it is that of the figure, not of its data
        x: { time: false, distr: chart.x.log ? 3 : 1, range: (self, min, max) => (self.zoomed ? [min, max] : chart.x.span) },
        y: { distr: chart.y.log ? 3 : 1, range: chart.y.span },
      },
      axes: [axis(chart.x), { ...axis(chart.y), size: 58 }],
      series: [
        { label: chart.x.label.split(/[,;(]/)[0].trim() || "x", value: (_, value) => number(value) },
        ...chart.series.map((one, k) => ({
          label: one.name || chart.y.label, class: one.name || k === unnamed ? "named" : "unnamed", stroke: one.color, width: one.width, dash: one.dash, spanGaps: true,
          paths: paths(one), points: { show: one.points, size: 5, fill: one.color },
          value: (self, value, at, index) => number(index == null ? null : near(self.data[at], index)),
        })),
      ],
      hooks: { drawAxes: [behind(chart)], setSelect: [moved(group)] },
    }, joined(chart), place);
    u.whole = chart.x.span;
    group.push(u);
    // in the next frame: a change of size within the observer is an error of the page ("ResizeObserver loop")
    new ResizeObserver(() => requestAnimationFrame(() => {
      const width = Math.max(place.clientWidth, 240);
      if (width !== u.width) u.setSize({ width, height: 250 });
    })).observe(place);
  };

  for (const figure of document.querySelectorAll("[data-charts]")) {
    for (const chart of JSON.parse(figure.dataset.charts)) {
      const place = document.createElement("div");
      figure.append(place);
      if (chart.title) {
        const title = document.createElement("p");
        title.textContent = chart.title;
        place.append(title);
      }
      draw(place, chart);
    }
    figure.closest("figure").classList.add("live");
  }
})();
