// A figure over an axis that all figures of its group share: zoom and cursor move together.

import { useEffect, useRef } from 'preact/hooks';
import uPlot from 'uplot';

export interface Line {
  label: string;
  values: (number | null)[];
  /** A colour's name in the style sheet. */
  color: string;
  dashed?: boolean;
  /** Bars from zero instead of a line. */
  bars?: boolean;
  width?: number;
}

export interface PlotProps {
  title: string;
  x: number[];
  lines: Line[];
  xLabel: string;
  yLabel: string;
  height?: number;
  group?: string;
  /** The measured part of the time; the rest is shaded. */
  window?: [number, number];
}

const groups = new Map<string, Set<uPlot>>();

/** Zooms the other figures of a group; the one who began hears nothing back. */
function follow(group: string, from: uPlot): void {
  const { min, max } = from.scales.x as { min?: number; max?: number };
  if (min === undefined || max === undefined) return;
  for (const other of groups.get(group) ?? []) {
    const { min: low, max: high } = other.scales.x as { min?: number; max?: number };
    if (other !== from && (low !== min || high !== max)) other.setScale('x', { min, max });
  }
}

/** Where the pointer is, or the last value there is: a legend is never empty. */
function shown(plot: uPlot, series: number, value: number | null | undefined, digits: number): string {
  let latest = value;
  const values = plot.data[series] ?? [];
  for (let k = values.length - 1; k >= 0 && plot.cursor.idx == null && latest == null; k--) latest = values[k];
  return latest == null ? '–' : latest.toPrecision(digits);
}

const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

function shade(plot: uPlot, window: [number, number]): void {
  const { left, top, width, height } = plot.bbox;
  const from = Math.min(Math.max(plot.valToPos(window[0], 'x', true), left), left + width);
  const to = Math.min(Math.max(plot.valToPos(window[1], 'x', true), left), left + width);
  plot.ctx.save();
  plot.ctx.fillStyle = css('--shade');
  plot.ctx.fillRect(left, top, from - left, height);
  plot.ctx.fillRect(to, top, left + width - to, height);
  plot.ctx.restore();
}

/** Width of the longest number on an axis, with its tick. */
const roomFor = (font: string) => (plot: uPlot, values: string[] | null) => {
  plot.ctx.save();
  plot.ctx.font = font;
  const widths = (values ?? []).map((label) => plot.ctx.measureText(label).width);
  plot.ctx.restore();
  return Math.ceil(Math.max(24, ...widths)) + 14;
};

/** The top of the axis: what is measured fits, and of the warm-up as much as is half as high again. */
function top(plot: uPlot, high: number, window: [number, number] | undefined): number {
  let most = high;
  const [times, ...lines] = plot.data as (number | null)[][];
  // before the first drawing the axis has no ends yet
  const min = plot.scales.x?.min ?? times?.[0];
  const max = plot.scales.x?.max ?? times?.[times.length - 1];
  if (window && times && min != null && max != null && min < window[0] && max > window[0]) {
    const inside = (time: number | null | undefined) =>
      time != null && time >= window[0] && time <= Math.min(window[1], max);
    const values = lines.flatMap((line) =>
      line.filter((number, k): number is number => number !== null && inside(times[k])),
    );
    const measured = values.reduce((most, number) => Math.max(most, number), 0);
    if (measured > 0) most = Math.min(high, 1.5 * measured);
  }
  return most > 0 ? most * 1.06 : 1;
}

function options(props: PlotProps, width: number): uPlot.Options {
  const { lines, xLabel, yLabel, height = 220, group, window } = props;
  const font = '12px system-ui, sans-serif';
  const axis = {
    stroke: css('--quiet'),
    grid: { stroke: css('--grid'), width: 1 },
    ticks: { stroke: css('--grid'), width: 1, size: 5 },
    font,
    labelFont: font,
    labelSize: 20,
  };
  const series: uPlot.Series[] = lines.map((line) => ({
    label: line.label,
    stroke: css(line.color),
    width: line.width ?? 1.6,
    ...(line.dashed ? { dash: [6, 4] } : {}),
    ...(line.bars && uPlot.paths.bars
      ? { paths: uPlot.paths.bars({ size: [1, 100] }), fill: `${css(line.color)}55`, width: 0 }
      : {}),
    spanGaps: true,
    points: { show: false },
    value: (plot: uPlot, value: number | null, index: number) => shown(plot, index, value, 4),
  }));
  return {
    width,
    height,
    series: [{ label: xLabel, value: (plot, value) => shown(plot, 0, value, 5) }, ...series],
    axes: [
      { ...axis, label: xLabel, size: 34 },
      { ...axis, label: yLabel, size: roomFor(axis.font) },
    ],
    scales: {
      x: { time: false },
      y: { range: (plot, low, high) => [Math.min(0, low ?? 0), top(plot, high ?? 1, window)] },
    },
    cursor: { ...(group ? { sync: { key: group, setSeries: false } } : {}), drag: { x: true, y: false } },
    legend: { show: lines.length > 1 && lines.length < 7 },
    hooks: {
      ...(window ? { drawClear: [(plot: uPlot) => shade(plot, window)] } : {}),
      ...(group ? { setScale: [(plot: uPlot, key: string) => key === 'x' && follow(group, plot)] } : {}),
    },
  };
}

export function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = place.current;
    if (!root) return;
    const data = [props.x, ...props.lines.map((line) => line.values)] as uPlot.AlignedData;
    const plot = new uPlot(options(props, Math.max(root.clientWidth, 200)), data, root);
    const members = props.group ? (groups.get(props.group) ?? new Set<uPlot>()) : null;
    if (members && props.group) groups.set(props.group, members.add(plot));
    const watch = new ResizeObserver(() => {
      const width = root.clientWidth;
      if (width > 0 && width !== plot.width) plot.setSize({ width, height: props.height ?? 220 });
    });
    watch.observe(root);
    return () => {
      watch.disconnect();
      members?.delete(plot);
      plot.destroy();
    };
  });
  return (
    <div
      class="plot"
      ref={place}
      role="img"
      aria-label={`${props.title}: ${props.yLabel} over ${props.xLabel}, ${props.lines.map((line) => line.label).join(', ')}`}
    />
  );
}
