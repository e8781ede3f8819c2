// What a reader of a report would stumble over, as the layout in the browser shows it. Each function runs in the page
// and therefore uses nothing from outside of itself.

/** Words that are cut, or reach out of their place. On paper nothing scrolls. */
export function cut(paper: boolean): string[] {
  const found: string[] = [];
  const named = (element: Element) =>
    `${element.tagName.toLowerCase()}.${element.className} "${(element.textContent ?? '').trim().slice(0, 40)}"`;
  const scrolls = (element: Element) => {
    for (let above = element.parentElement; above; above = above.parentElement) {
      if (getComputedStyle(above).overflowX !== 'visible') return true;
    }
    return false;
  };
  for (const element of document.querySelectorAll<HTMLElement>('main *')) {
    if (!(element instanceof HTMLElement) || !element.clientWidth || element.closest('[data-charts]')) continue;
    const { overflowX, overflowY } = getComputedStyle(element);
    const hidden = (overflow: string) => (paper ? overflow !== 'visible' : /hidden|clip/.test(overflow));
    const over = element.scrollWidth - element.clientWidth;
    if (hidden(overflowX) && over > 1) found.push(`${over} pixels are cut at the right: ${named(element)}`);
    if (hidden(overflowY) && element.scrollHeight > element.clientHeight + 1)
      found.push(`${element.scrollHeight - element.clientHeight} pixels are cut below: ${named(element)}`);
    if (overflowX === 'visible' && over > 1 && element.matches('td, th, p, li, dt, dd, figcaption, summary'))
      found.push(`words reach ${over} pixels out of their place: ${named(element)}`);
    if (element.getBoundingClientRect().left < -1 && !scrolls(element))
      found.push(`cut at the left of the screen: ${named(element)}`);
  }
  return found;
}

/** Pictures: words outside of them or over one another, no data, axes without words, legends. All must be displayed. */
export function pictures(): string[] {
  const found: string[] = [];
  const drawn = (element: Element) => {
    const { width, height } = element.getBoundingClientRect();
    return width > 0 || height > 0;
  };
  const meet = (a: DOMRect, b: DOMRect, by = 0) =>
    Math.min(a.right, b.right) - Math.max(a.left, b.left) > by &&
    Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > by;
  const said = (element: Element) => `"${(element.textContent ?? '').trim().replace(/\s+/g, ' ').slice(0, 40)}"`;
  const parts = (group: Element, ending: RegExp) => [...group.children].filter((child) => ending.test(child.id));
  /** The letters of a line of words, without the room above and below; nothing of words at a slant. */
  const letters = (text: SVGGraphicsElement) => {
    const { a, b } = text.getScreenCTM() ?? { a: 1, b: 0 };
    if (Math.min(Math.abs(a), Math.abs(b)) > 0.02 * Math.hypot(a, b)) return null;
    const { x, y, width, height } = text.getBoundingClientRect();
    const room = 0.18 * Math.min(width, height);
    return new DOMRect(x + room, y + room, width - 2 * room, height - 2 * room);
  };
  /** Places of a line, at most some pixels apart, on the screen. */
  const places = (path: SVGGeometryElement): DOMPoint[] => {
    const matrix = path.getScreenCTM() as DOMMatrix;
    const corners = [...(path.getAttribute('d') ?? '').matchAll(/([ML]) (\S+) (\S+)/g)].map(
      ([, pen, x, y]) => [pen, new DOMPoint(Number(x), Number(y)).matrixTransform(matrix)] as const,
    );
    const all: DOMPoint[] = [];
    corners.forEach(([pen, to], k) => {
      const from = pen === 'L' ? (corners[k - 1]?.[1] ?? to) : to;
      const steps = Math.min(200, Math.ceil(Math.hypot(to.x - from.x, to.y - from.y) / 3));
      for (let step = 1; step < steps; step++)
        all.push(new DOMPoint(from.x + ((to.x - from.x) * step) / steps, from.y + ((to.y - from.y) * step) / steps));
      all.push(to);
    });
    return all;
  };

  for (const svg of document.querySelectorAll<SVGSVGElement>('main svg')) {
    if (!drawn(svg)) continue;
    const name = svg.getAttribute('aria-label') ?? 'a picture';
    const say = (what: string) => found.push(`${name}: ${what}`);
    const frame = svg.getBoundingClientRect();
    const texts = [...svg.querySelectorAll('text')].filter(drawn);
    for (const text of texts) {
      const at = text.getBoundingClientRect();
      const out = Math.max(frame.left - at.left, at.right - frame.right, frame.top - at.top, at.bottom - frame.bottom);
      if (out > 1.5) say(`words ${out.toFixed(0)} pixels outside of the picture: ${said(text)}`);
    }
    texts.forEach((text, k) => {
      const at = letters(text);
      for (const other of texts.slice(k + 1)) {
        const beside = letters(other);
        if (!at || !beside || !meet(at, beside, 1)) continue;
        // a halo is the same words once more
        if (said(text) !== said(other) || Math.abs(at.x - beside.x) > 1 || Math.abs(at.y - beside.y) > 1)
          say(`words over words: ${said(text)}, ${said(other)}`);
      }
    });

    const all = [...svg.querySelectorAll('g')].filter((group) => /axes_\d+$/.test(group.id));
    if (!all.length && !svg.querySelector('path, line, rect, circle, polyline, polygon, image, use'))
      say('nothing is drawn');
    const lines: [SVGGeometryElement, DOMRect][] = [];
    for (const axes of all) {
      const [ground] = parts(axes, /patch_\d+$/);
      const area = (ground ?? axes).getBoundingClientRect();
      const data = [...axes.querySelectorAll<SVGGeometryElement>('path, use, image')].filter(
        (mark) => !mark.closest('defs, [id*="matplotlib.axis"], [id*="legend_"], [id*="text_"]'),
      );
      const marks = data.filter((mark) => {
        // the ground and the spines are clipped by nothing; a pale area says when something was measured
        const patch = /patch_\d+$/.test(mark.parentElement?.id ?? '');
        if (patch && (!mark.hasAttribute('clip-path') || /#ececec/.test(mark.getAttribute('style') ?? '')))
          return false;
        return drawn(mark) && (meet(mark.getBoundingClientRect(), area, -1) || mark.tagName === 'image');
      });
      if (!marks.length) say('axes without data');
      for (const mark of marks)
        if (mark.tagName === 'path' && /line2d_\d+$/.test(mark.parentElement?.id ?? '')) lines.push([mark, area]);
    }

    const labelled = (axis: Element) => parts(axis, /text_\d+$/).some((text) => /[a-z%]/i.test(text.textContent ?? ''));
    for (const [kind, letter] of [
      ['matplotlib.axis_1', 'x'],
      ['matplotlib.axis_2', 'y'],
    ] as const) {
      const axes = [...svg.querySelectorAll('g')].filter((group) => group.id.endsWith(kind));
      const numbers = (axis: Element) =>
        [...axis.querySelectorAll('g[id*="tick_"] text')].some((t) =>
          /^[\d\u2212.]+$/.test((t.textContent ?? '').trim()),
        );
      // along y the title of the axes may say it
      const titled = (axis: Element) => letter === 'y' && axis.parentElement && labelled(axis.parentElement);
      const bare = axes.filter((axis) => numbers(axis) && !labelled(axis) && !titled(axis));
      // axes above one another share what stands below
      const shared = letter === 'x' && axes.some(labelled);
      if (bare.length && !shared) say(`numbers along ${letter} without a name`);
    }

    for (const legend of [...svg.querySelectorAll('g')].filter((group) => /legend_\d+$/.test(group.id))) {
      const looks = new Map<string, string>();
      let look = '';
      for (const part of legend.children) {
        if (/text_\d+$/.test(part.id)) {
          const twin = looks.get(look);
          if (look && twin) say(`the legend shows ${twin} and ${said(part)} alike`);
          if (look) looks.set(look, said(part));
          look = '';
        } else if (!part.previousElementSibling && /patch_\d+$/.test(part.id)) {
        } else {
          for (const mark of part.querySelectorAll('path, use'))
            look += mark.closest('defs') ? mark.getAttribute('d') : mark.getAttribute('style');
        }
      }
      const words = [...legend.querySelectorAll('text')].map((text) => letters(text)).filter((at) => at !== null);
      const inside = (at: DOMRect, x: number, y: number) => at.left < x && x < at.right && at.top < y && y < at.bottom;
      const under = lines.filter(([line, area]) =>
        places(line).some(({ x, y }) => inside(area, x, y) && words.some((at) => inside(at, x, y))),
      );
      if (under.length) say(`the legend lies over ${under.length} lines: ${said(legend)}`);
    }
  }
  return found;
}

/** Charts that zoom: data in view, and lines that a legend can tell apart. */
export function charts(): string[] {
  const found: string[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: as charts.js has it
  type Chart = any;
  for (const place of document.querySelectorAll<HTMLElement>('[data-charts]')) {
    for (const chart of JSON.parse(place.dataset.charts ?? '[]') as Chart[]) {
      const name = `${place.getAttribute('aria-label')} ${chart.title}`.trim();
      const [from, to] = chart.x.span;
      const seen = chart.series.some((one: Chart) =>
        one.x.some((x: number, k: number) => from <= x && x <= to && one.y[k] != null),
      );
      if (!seen && !chart.bars.length) found.push(`${name}: a chart without data`);
      if (!chart.x.label || !(chart.y.label || chart.title)) found.push(`${name}: a chart with an axis without a name`);
      const looks = new Map<string, string>();
      // marks and levels are told apart by the numbers in their names
      for (const one of chart.series.filter(
        (one: Chart) => one.name && !(one.x.length < 3 && /\d$|\d \w?s$/.test(one.name)),
      )) {
        const look = `${one.color} ${one.dash} ${one.points} ${one.width}`;
        const twin = looks.get(look);
        if (twin) found.push(`${name}: the chart shows "${twin}" and "${one.name}" alike`);
        looks.set(look, one.name);
      }
    }
    if (place.querySelectorAll('canvas').length === 0) found.push(`${place.getAttribute('aria-label')}: no chart`);
  }
  return found;
}

/** Words that no reader takes for words, and columns with nothing in them. */
export function words(): string[] {
  const found: string[] = [];
  const walker = document.createTreeWalker(document.querySelector('main') ?? document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const above = walker.currentNode.parentElement;
    if (!above || above.closest('pre, code, script, style')) continue;
    const text = walker.currentNode.textContent ?? '';
    const [odd] = /\b(?:nan|NaN|undefined|Infinity|None)\b|\[object|\{\w*\}/.exec(text) ?? [];
    if (odd) found.push(`"${odd}" in "${text.trim().slice(0, 80)}"`);
  }
  for (const table of document.querySelectorAll('main table')) {
    const rows = [...table.querySelectorAll('tbody tr')];
    [...table.querySelectorAll('thead tr:last-child > *')].forEach((head, k) => {
      const empty = rows.every((row) => row.children.length > 1 && !row.children[k]?.textContent?.trim());
      if (rows.length && head.textContent?.trim() && empty) found.push(`an empty column: "${head.textContent.trim()}"`);
    });
  }
  return found;
}
