// What a visitor takes away: the scenario, the numbers, the figures.

import type { Outcome } from './engine/answers';

export function save(name: string, parts: BlobPart[], type: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(new Blob(parts, { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** All traces on the screen, a column each; units stand in the head. */
export function csv(outcome: Outcome): string {
  const { time, links, flows } = outcome.traces;
  const text = (name: string) => (/[",\n]/.test(name) ? `"${name.replaceAll('"', '""')}"` : name);
  const link = (index: number) => text(`${outcome.links[index]?.name} queue (packets)`);
  const head = [
    'time (s)',
    ...links.map((trace) => link(trace.link)),
    ...flows.map((trace) => `flow ${trace.flow} cwnd (packets)`),
  ];
  const rows = time.map((t, k) => [
    t,
    ...links.map((trace) => trace.queue_packets[k]),
    ...flows.map((trace) => trace.cwnd[k] ?? ''),
  ]);
  return `${[head, ...rows].map((row) => row.join(',')).join('\n')}\n`;
}

/** The figures on the screen, one above the other, as a picture of this size. */
export function png(): void {
  const figures = [...document.querySelectorAll<HTMLElement>('.figure')].filter((figure) =>
    figure.querySelector('canvas'),
  );
  const scale = window.devicePixelRatio || 1;
  const canvases = figures.map((figure) => figure.querySelector('canvas') as HTMLCanvasElement);
  const width = Math.max(...canvases.map((canvas) => canvas.width));
  const title = 28 * scale;
  const canvas = document.createElement('canvas');
  canvas.width = width;
  canvas.height = canvases.reduce((sum, canvas) => sum + canvas.height + title, 0);
  const ink = canvas.getContext('2d');
  if (!ink || !canvases.length) return;
  const style = getComputedStyle(document.documentElement);
  ink.fillStyle = style.getPropertyValue('--card');
  ink.fillRect(0, 0, canvas.width, canvas.height);
  ink.fillStyle = style.getPropertyValue('--ink');
  ink.font = `600 ${14 * scale}px system-ui, sans-serif`;
  let top = 0;
  canvases.forEach((canvas, k) => {
    ink.fillText(figures[k]?.querySelector('h3')?.textContent ?? '', 12 * scale, top + 19 * scale);
    ink.drawImage(canvas, 0, top + title);
    top += canvas.height + title;
  });
  canvas.toBlob((blob) => blob && save('ackclock.png', [blob], 'image/png'));
}

const escaped = (text: string) => text.replace(/[&<>"]/g, (c) => `&#${c.charCodeAt(0)};`);

/** The queue over time as a vector figure. */
export function svg(outcome: Outcome, link: number): string {
  const trace = outcome.traces.links[link];
  const { time } = outcome.traces;
  const [w, h, left, bottom] = [900, 320, 64, 48];
  const queue = trace?.queue_packets ?? [];
  const top = queue.reduce((most, packets) => Math.max(most, packets), 1) * 1.05;
  const end = time[time.length - 1] ?? 1;
  const x = (t: number) => left + ((w - left - 16) * t) / end;
  const y = (q: number) => h - bottom - ((h - bottom - 16) * q) / top;
  const points = time.map((t, k) => `${x(t).toFixed(1)},${y(queue[k] as number).toFixed(1)}`).join(' ');
  const marks = [0, 0.25, 0.5, 0.75, 1];
  const ticks = marks.map(
    (
      m,
    ) => `<text x="${x(m * end)}" y="${h - bottom + 18}" text-anchor="middle">${Number((m * end).toPrecision(3))}</text>
<text x="${left - 8}" y="${y(m * top) + 4}" text-anchor="end">${Number((m * top).toPrecision(3))}</text>
<line x1="${left}" x2="${w - 16}" y1="${y(m * top)}" y2="${y(m * top)}" stroke="#ddd"/>`,
  );
  const name = escaped(outcome.links[link]?.name ?? '');
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" font-family="sans-serif" font-size="13">
<rect width="${w}" height="${h}" fill="#fff"/>
${ticks.join('\n')}
<polyline points="${points}" fill="none" stroke="#1f5fbf" stroke-width="1.2"/>
<text x="${w / 2}" y="${h - 8}" text-anchor="middle">time (s)</text>
<text transform="translate(16 ${h / 2}) rotate(-90)" text-anchor="middle">queue of ${name} (packets)</text>
</svg>
`;
}
