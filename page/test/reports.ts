// Reports in a browser: three widths, light and dark, and paper. Usage:
// reports.ts PATH-OF-CHROMIUM [FOLDER-FOR-SCREENSHOTS] < paths of reports, one a line; prints {file, findings} of each.

import { mkdirSync, readFileSync } from 'node:fs';
import { basename } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';
import { accessible, launched, overheard, wide } from './chromium';
import { charts, cut, pictures, words } from './faults';

const [program, shots] = process.argv.slice(2) as [string, string | undefined];
if (shots) mkdirSync(shots, { recursive: true });
const WIDTHS = [600, 1280, 1920];
/** A4 upright without the margins that base.html has for it, at 96 pixels an inch. */
const PAPER = Math.round(((210 - 2 * 14) / 25.4) * 96);
const browser = await launched(program);

/** Findings of one report; those of several states once, with the first of them. */
async function judged(address: string, name: string): Promise<string[]> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  const found = new Map<string, string>();
  let state = 'when it opens';
  const say = (what: string) => found.has(what) || found.set(what, state);
  overheard(page, say, (url) => /^(file|data|blob|about):/.test(url));
  await page.goto(address);
  await page.evaluate(() => {
    for (const folded of document.querySelectorAll('details')) folded.open = true;
  });
  const look = async (width: number, scheme: 'light' | 'dark', media: 'screen' | 'print') => {
    state = media === 'print' ? 'on paper' : `${width} px, ${scheme}`;
    await page.emulateMedia({ colorScheme: scheme, media });
    await page.setViewportSize({ width, height: 900 });
    for (const what of [...(await wide(page)), ...(await page.evaluate(cut, media === 'print'))]) say(what);
    if (shots) await pictured(page, `${shots}/${name}-${media === 'print' ? 'print' : `${width}-${scheme}`}.png`);
  };
  for (const width of WIDTHS) {
    for (const scheme of ['light', 'dark'] as const) {
      await look(width, scheme, 'screen');
      if (width === 1280) for (const what of await accessible(page)) say(what);
    }
  }
  for (const what of [...(await page.evaluate(charts)), ...(await page.evaluate(words))]) say(what);
  await look(PAPER, 'light', 'print');
  for (const what of await page.evaluate(pictures)) say(what);
  await page.close();
  return [...found].map(([what, where]) => `${where}: ${what}`);
}

async function pictured(page: Page, path: string): Promise<void> {
  await page.screenshot({ path, fullPage: true });
}

const AXES = '<g id="axes_1"><g id="patch_1"><path d="M 0 0 L 100 0 L 100 100 L 0 100 z" fill="none"/></g></g>';
const LOOK = '<path d="M 5 5 L 9 5" style="stroke: #000"/>';
/** One fault of each kind, and what must be said of it: a judge that misses one judges nothing. */
const PLANTED: [RegExp, string][] = [
  [/planted error/, '<script>throw new Error("planted error")</script>'],
  [/console: planted warning/, '<script>console.warn("planted warning")</script>'],
  [/request: http:\/\/127.0.0.1:9/, '<img src="http://127.0.0.1:9/x.png" alt="none">'],
  [/wider than the screen/, '<div style="width: 3000px">wide</div>'],
  [/cut at the right/, '<p style="width: 9rem; overflow: hidden; white-space: nowrap">words that do not fit here</p>'],
  [/out of their place/, '<p style="width: 1rem">unbreakable</p>'],
  [/axe: color-contrast/, '<p style="color: #ddd; background: #eee">pale</p>'],
  [
    /outside of the picture: "out"/,
    '<svg viewBox="0 0 100 100"><path d="M 0 0 L 9 9"/><text x="95" y="50">out</text></svg>',
  ],
  [
    /words over words: "one", "two"/,
    '<svg viewBox="0 0 100 100"><text x="9" y="50">one</text><text x="12" y="52">two</text></svg>',
  ],
  [/nothing is drawn/, '<svg aria-label="empty" viewBox="0 0 100 100" width="100"></svg>'],
  [/axes without data/, `<svg viewBox="0 0 100 100">${AXES}</svg>`],
  [
    /numbers along x without a name/,
    '<svg viewBox="0 0 100 100"><g id="matplotlib.axis_1"><g id="xtick_1"><text y="20">5</text></g></g></svg>',
  ],
  [
    /the legend shows "a" and "b" alike/,
    `<svg viewBox="0 0 100 100"><g id="legend_1"><g>${LOOK}</g><g id="text_1"><text y="20">a</text></g><g>${LOOK}</g><g id="text_2"><text y="50">b</text></g></g></svg>`,
  ],
  [
    /the legend lies over 1 line/,
    `<svg viewBox="0 0 100 100">${AXES.replace('</g></g>', '</g><g id="line2d_1"><path d="M 0 45 L 90 45" stroke="red"/></g></g>')}<g id="legend_1"><g id="text_1"><text y="50">c</text></g></g></svg>`,
  ],
  [
    /a chart without data/,
    `<div data-charts='[{"title":"x","x":{"label":"x","span":[0,1]},"y":{"label":"y"},"series":[],"bars":[]}]'></div>`,
  ],
  [/"nan" in/, '<p>nan ms</p>'],
  [
    /an empty column: "loss"/,
    '<table><thead><tr><th>link</th><th>loss</th></tr></thead><tbody><tr><th>a</th><td></td></tr></tbody></table>',
  ],
];
const planted = PLANTED.map(([, fault]) => fault).join('\n');
const page = `<!DOCTYPE html><html lang="en"><title>planted</title><main><h1>planted</h1>${planted}</main></html>`;
const seen = await judged(`data:text/html;charset=utf-8,${encodeURIComponent(page)}`, 'planted');
const missed = PLANTED.filter(([said]) => !seen.some((what) => said.test(what)));
if (missed.length)
  throw new Error(`planted faults that are not seen: ${missed.map(([, fault]) => fault)}; seen: ${seen}`);

for (const file of readFileSync(0, 'utf8').split('\n').filter(Boolean)) {
  const name = basename(file, '.html');
  const findings = await judged(pathToFileURL(file).href, name).catch((error) => [String(error).split('\n')[0]]);
  console.log(JSON.stringify({ file, findings }));
}
await browser.close();
