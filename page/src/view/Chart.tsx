// The stability chart: unstable roots over two parameters, crisp, to be clicked.

import { useEffect, useRef } from 'preact/hooks';
import { short } from '../scenario/quantity';

export interface ChartData {
  /** Values on the axes in the units shown, first over the rows. */
  first: number[];
  second: number[];
  counts: number[];
  now: [number, number];
  labels: [string, string];
}

const [LEFT, BOTTOM, TOP, RIGHT, HEIGHT] = [58, 42, 10, 18, 300];
const css = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

const place = (values: number[], value: number) =>
  Math.log(value / (values[0] as number)) / Math.log((values[values.length - 1] as number) / (values[0] as number));

function ticks(values: number[]): number[] {
  const [low, high] = [values[0] as number, values[values.length - 1] as number];
  const all: number[] = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.log10(high); power++) {
    for (const lead of [1, 2, 5]) {
      const tick = lead * 10 ** power;
      if (tick >= low * 0.999 && tick <= high * 1.001) all.push(tick);
    }
  }
  return all.length > 7 ? all.filter((tick) => /^1/.test(tick.toExponential())) : all;
}

function draw(canvas: HTMLCanvasElement, data: ChartData): void {
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(HEIGHT * scale);
  const ink = canvas.getContext('2d');
  if (!ink) return;
  ink.scale(scale, scale);
  const [w, h] = [width - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
  const [rows, columns] = [data.first.length, data.second.length];
  // the first parameter runs to the right, the second upwards
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const count = data.counts[row * columns + column] ?? -1;
      ink.fillStyle = css(count < 0 ? '--unknown' : count === 0 ? '--stable' : '--unstable');
      const [x0, x1] = [LEFT + (w * row) / rows, LEFT + (w * (row + 1)) / rows];
      const [y0, y1] = [TOP + h - (h * column) / columns, TOP + h - (h * (column + 1)) / columns];
      ink.fillRect(Math.floor(x0), Math.floor(y1), Math.ceil(x1) - Math.floor(x0), Math.ceil(y0) - Math.floor(y1));
    }
  }
  ink.fillStyle = css('--quiet');
  ink.font = '12px system-ui, sans-serif';
  ink.textAlign = 'center';
  for (const tick of ticks(data.first)) ink.fillText(short(tick), LEFT + w * place(data.first, tick), TOP + h + 16);
  ink.fillText(data.labels[0], LEFT + w / 2, HEIGHT - 6);
  ink.textAlign = 'right';
  for (const tick of ticks(data.second))
    ink.fillText(short(tick), LEFT - 6, TOP + h - h * place(data.second, tick) + 4);
  ink.save();
  ink.translate(13, TOP + h / 2);
  ink.rotate(-Math.PI / 2);
  ink.textAlign = 'center';
  ink.fillText(data.labels[1], 0, 0);
  ink.restore();
  const [x, y] = [LEFT + w * place(data.first, data.now[0]), TOP + h - h * place(data.second, data.now[1])];
  if (x < LEFT || x > LEFT + w || y < TOP || y > TOP + h) return;
  ink.beginPath();
  ink.arc(x, y, 6, 0, 2 * Math.PI);
  ink.fillStyle = css('--paper');
  ink.fill();
  ink.lineWidth = 3;
  ink.strokeStyle = css('--ink');
  ink.stroke();
}

export function Chart({ data, choose }: { data: ChartData; choose(first: number, second: number): void }) {
  const place = useRef<HTMLCanvasElement>(null);
  useEffect(() => {
    const canvas = place.current;
    if (!canvas) return;
    draw(canvas, data);
    const watch = new ResizeObserver(() => draw(canvas, data));
    watch.observe(canvas);
    return () => watch.disconnect();
  });
  const at = (values: number[], part: number) =>
    (values[0] as number) *
    ((values[values.length - 1] as number) / (values[0] as number)) ** Math.min(Math.max(part, 0), 1);
  const click = (event: MouseEvent) => {
    const canvas = event.currentTarget as HTMLCanvasElement;
    const [w, h] = [canvas.clientWidth - LEFT - RIGHT, HEIGHT - TOP - BOTTOM];
    choose(at(data.first, (event.offsetX - LEFT) / w), at(data.second, (TOP + h - event.offsetY) / h));
  };
  const key = (event: KeyboardEvent) => {
    const step = { ArrowRight: [1.1, 1], ArrowLeft: [1 / 1.1, 1], ArrowUp: [1, 1.1], ArrowDown: [1, 1 / 1.1] }[
      event.key
    ];
    if (!step) return;
    event.preventDefault();
    choose(data.now[0] * (step[0] as number), data.now[1] * (step[1] as number));
  };
  return (
    <canvas
      class="chart"
      ref={place}
      tabIndex={0}
      role="application"
      aria-label={`Stability chart: ${data.labels[0]} by ${data.labels[1]}; the arrow keys move the operating point`}
      onClick={click}
      onKeyDown={key}
    />
  );
}
