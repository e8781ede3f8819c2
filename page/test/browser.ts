// The built page in a browser: all scenarios and lessons, four widths, light and dark, controls, hostile
// addresses and texts. Usage: browser.ts PATH-OF-CHROMIUM [FOLDER-FOR-SCREENSHOTS]

import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { loadavg } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Page } from 'playwright-core';
import { encode } from '../src/address';
import { accessible, launched, overheard, wide } from './chromium';
import { serve } from './server';

const [program, shots] = process.argv.slice(2) as [string, string | undefined];
if (shots) mkdirSync(shots, { recursive: true });
const root = fileURLToPath(new URL('../../', import.meta.url));
const { server, url, requests } = await serve(`${root}python/ackclock/present/page_files`);
const browser = await launched(program);
const problems: string[] = [];
const only = new RegExp(process.env.ONLY ?? '');
const VISITS = 3;
const say = (what: string) => problems.push(what);

const session = await browser.newBrowserCDPSession();

/** CPU time that all tabs have taken so far, ms: other programs do not count, as they do in waiting times. */
async function cpu(): Promise<number> {
  const { processInfo } = await session.send('SystemInfo.getProcessInfo');
  return processInfo.reduce((sum, info) => sum + (info.type === 'renderer' ? 1e3 * info.cpuTime : 0), 0);
}

/** A page that complains of what a visitor would not see. */
async function opened(hash = '', width = 1280, dark = false): Promise<Page> {
  const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme: dark ? 'dark' : 'light' });
  const own = (address: string) => address.startsWith(url) || /^(blob|data):/.test(address);
  overheard(page, (what) => say(`${hash}: ${what}`), own);
  await page.goto(url + hash);
  return page;
}

/** Packets, equations and mean field have answered or said why not. */
async function settled(page: Page, limit = 120_000): Promise<void> {
  await page.waitForSelector('.headline', { timeout: limit });
  await page.waitForTimeout(400);
  const ready = () => !document.querySelector('progress') && !document.body.innerText.includes('on its way');
  await page.waitForFunction(ready, null, { timeout: limit });
  await page.waitForTimeout(300);
}

async function fits(page: Page, name: string): Promise<void> {
  for (const what of await wide(page)) say(`${name}: ${what}`);
}

async function check(name: string, what: () => Promise<void>): Promise<void> {
  if (!only.test(name)) return;
  const begin = Date.now();
  await what().catch((error) => say(`${name}: ${String(error).split('\n')[0]}`));
  console.log(`${name}: ${((Date.now() - begin) / 1000).toFixed(1)} s`);
}

const text = (name: string) => readFileSync(`${root}scenarios/${name}.toml`, 'utf8');
const at = async (scenario: string) => `#s=${await encode({ t: scenario })}`;

/** A slider moves: everything answers, and nothing more is fetched. */
async function moved(page: Page): Promise<void> {
  await settled(page);
  await page.waitForSelector('canvas.chart');
  const before = requests.length;
  await page.locator('input[type=range][aria-label="Base RTT"]').fill('200');
  await settled(page);
  if (requests.length !== before) say(`requests after loading: ${requests.slice(before)}`);
  await page.close();
}

await check('first answer', async () => {
  const assets = `${root}python/ackclock/present/page_files/assets/`;
  for (const file of readdirSync(assets).filter((name) => name.endsWith('.br'))) {
    console.log(`  ${file}: ${(statSync(assets + file).size / 1e3).toFixed(1)} kB`);
  }
  // a visitor for the first time: nothing is in a cache
  for (let visit = 0; visit < VISITS; visit++) {
    const [before, load] = [await cpu(), loadavg()[0] ?? 0];
    const page = await opened();
    await page.waitForSelector('.lead:not(.quiet)');
    const took = await page.evaluate(() => performance.now());
    const spent = (await cpu()) - before;
    console.log(
      `  after ${took.toFixed(0)} ms, with ${spent.toFixed(0)} ms of CPU time, at a load of ${load.toFixed(1)}`,
    );
    if (visit < VISITS - 1) await page.close();
    else await moved(page);
  }
});

/** What is on the screen at four widths, light and dark: it fits, and no rule of axe is broken. */
async function everywhere(page: Page, name: string): Promise<void> {
  for (const theme of ['Light', 'Dark']) {
    const turn = page.locator('header').getByRole('button', { name: theme, exact: true });
    if (await turn.count()) await turn.click();
    for (const width of [390, 768, 1280, 1920]) {
      await page.setViewportSize({ width, height: 900 });
      await page.waitForTimeout(150);
      const where = `${name}, ${width} px, ${theme}`;
      await fits(page, where);
      for (const violation of await accessible(page)) say(`${where}: ${violation}`);
      if (shots) await page.screenshot({ path: `${shots}/${name}-${width}-${theme}.png`, fullPage: true });
    }
  }
}

await check('pages', async () => {
  const page = await opened(await at(text('bufferbloat')), 1280, true);
  await settled(page);
  await page.getByRole('button', { name: 'Scenario as text' }).click();
  await page.waitForSelector('.editor');
  await everywhere(page, 'editor');
  await page.locator('.cm-content').click();
  await page.keyboard.press('Control+a');
  await page.keyboard.insertText(text('home'));
  await page.waitForFunction(() => document.querySelector('h1')?.textContent?.startsWith('Home'));
  // answers come while somebody types, and take no letter away
  const typed = '# a remark that is typed while the engines are at work on what stood there before';
  await page.keyboard.press('Control+End');
  await page.keyboard.type(`\n${typed}`, { delay: 15 });
  if (!(await page.locator('.cm-content').innerText()).trimEnd().endsWith(typed)) say('editor: typed letters lost');
  await page.getByRole('button', { name: 'Lessons', exact: true }).click();
  await everywhere(page, 'lessons');
  await page.close();
});

for (const file of readdirSync(`${root}scenarios`).filter((name) => name.endsWith('.toml'))) {
  const name = file.replace('.toml', '');
  await check(file, async () => {
    const page = await opened();
    await page.waitForSelector('.controls select');
    await page.locator('.controls select').first().selectOption(name);
    await settled(page, 240_000);
    const lead = await page.locator('.lead').innerText();
    if (!lead.includes('of goodput')) say(`${file}: ${lead}`);
    await everywhere(page, name);
    await page.close();
  });
}

const lessons = readdirSync(`${root}page/lessons`).filter((name) => /^\d.*\.md$/.test(name));
for (const file of lessons) {
  const name = file.replace('.md', '');
  await check(file, async () => {
    const page = await opened(`#lesson=${name}`);
    await settled(page);
    if (!(await page.locator('.task').innerText()).includes('Not yet')) say(`${file}: done before anything was`);
    await everywhere(page, name);
    await page.close();
  });
}

await check('controls', async () => {
  const page = await opened();
  await settled(page);
  for (const label of ['AQM', 'Scheduler', 'Congestion control']) {
    const select = page.locator(`label.control:has(.name:text-is("${label}")) select`);
    const options = await select
      .locator('option')
      .evaluateAll((all) => all.map((option) => (option as HTMLOptionElement).value));
    for (const option of options) {
      await select.selectOption(option);
      await page.waitForTimeout(250);
      const mistake = await page.locator('.mistakes').count();
      if (mistake) say(`${label} ${option}: ${await page.locator('.mistakes').innerText()}`);
      for (const width of [390, 768, 1920, 1280]) {
        await page.setViewportSize({ width, height: 900 });
        await fits(page, `${label} ${option}, ${width} px`);
      }
      await page.getByRole('combobox').first().selectOption('bufferbloat');
      await page.waitForTimeout(150);
    }
  }
  await settled(page);
  await page.getByRole('button', { name: 'Keep as A' }).click();
  await page.locator('input[type=range][aria-label="Rate"]').focus();
  for (let k = 0; k < 5; k++) await page.keyboard.press('ArrowRight');
  await settled(page);
  if ((await page.locator('.numbers thead th').count()) !== 4) say('A and B: no table of both and their differences');
  if ((await page.locator('.shares .before').count()) === 0) say('A and B: no goodput of A');
  if (!(await page.locator('.figures').innerText()).includes('dashed: as many of A')) say('A and B: no windows of A');
  await page.getByRole('button', { name: 'Forget A' }).click();
  await page.locator('.controls select').first().selectOption('changing-link');
  await settled(page);
  if ((await page.locator('.change').count()) !== 4) say('changes: not all of them are listed');
  await page.getByRole('button', { name: 'Halve the rate' }).click();
  await settled(page);
  if ((await page.locator('.change').count()) !== 5) say('changes: none was added');
  for (let k = 5; k > 0; k--) await page.getByRole('button', { name: `Remove change ${k}` }).click();
  await settled(page);
  if (await page.locator('.mistakes, .change').count()) say('changes: they cannot all be removed');
  for (const name of ['TOML', 'CSV', 'SVG', 'PNG']) {
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    console.log(`  ${download.suggestedFilename()}`);
  }
  await page.close();
});

await check('engine', async () => {
  const page = await opened();
  await settled(page);
  const names = ['compound-red', 'compound-red-200ms', 'bufferbloat', 'home', 'mixed-traffic', 'bbr-and-cubic'];
  const scenarios = Object.fromEntries(names.map((name) => [name, text(name)]));
  const first = await page.evaluate(() => performance.getEntriesByType('resource').map((entry) => entry.name));
  const wasm = first.find((name) => name.endsWith('.wasm')) as string;
  const took = await page.evaluate(
    async ([address, all]) => {
      const { instance } = await WebAssembly.instantiateStreaming(fetch(address));
      // biome-ignore lint/suspicious/noExplicitAny: the engine's exports
      const calls = instance.exports as any;
      const ask = (question: object) => {
        const bytes = new TextEncoder().encode(JSON.stringify(question));
        const place = calls.ackclock_request(bytes.length);
        new Uint8Array(calls.memory.buffer, place, bytes.length).set(bytes);
        const answer = calls.ackclock_answer();
        return new TextDecoder().decode(new Uint8Array(calls.memory.buffer, answer, calls.ackclock_length()));
      };
      const least = (what: () => void) => {
        const times = [1, 2, 3].map(() => {
          const begin = performance.now();
          what();
          return performance.now() - begin;
        });
        return Math.round(10 * Math.min(...times)) / 10;
      };
      const rows: Record<string, Record<string, number>> = {};
      for (const [name, scenario] of Object.entries(all)) {
        const work = { text: scenario, work: 2e7 };
        const grid = { ...work, names: [] as string[], first: [] as number[], second: [] as number[] };
        const [, klass] = /\[\[flows\]\]\nname = "(.*)"/.exec(scenario) ?? [];
        grid.names = [`${klass}.rtt`, `${klass}.count`];
        grid.first = Array.from({ length: 40 }, (_, k) => 0.002 * 1.15 ** k);
        grid.second = Array.from({ length: 30 }, (_, k) => 2 * 1.2 ** k);
        rows[name] = {
          run: least(() => {
            ask({ ask: 'run', text: scenario, seed: null, flows: 6, memory: 1.5e9 });
            while (!ask({ ask: 'advance', events: 1e7 }).includes('"done":true'));
            ask({ ask: 'outcome', points: 1600 });
          }),
          trajectory: least(() =>
            ask({ ask: 'trajectory', ...work, duration: 40, samples: 900, steps: 3000, relative: 1e-4 }),
          ),
          chart: least(() => ask({ ask: 'chart', ...grid })),
        };
      }
      return rows;
    },
    [wasm, scenarios] as const,
  );
  console.table(took);
  await page.close();
});

await check('cancel', async () => {
  const long = text('compound-red').replace('"500 s"', '"50000 s"').replace('475 s .. 500 s', '475 s .. 50000 s');
  const page = await opened(await at(long));
  await page.getByRole('button', { name: 'Stop' }).waitFor();
  // ten to the eight packets and more: how far they are is seen
  await page.waitForFunction(() => Number(document.querySelector('progress')?.value) > 0, null, { timeout: 30_000 });
  const took = await page.evaluate(async () => {
    const begin = performance.now();
    [...document.querySelectorAll('button')].find((button) => button.textContent === 'Stop')?.click();
    while (document.querySelector('progress')) await new Promise((done) => setTimeout(done, 5));
    return performance.now() - begin;
  });
  console.log(`  stopped after ${took.toFixed(0)} ms`);
  await page.close();
});

const HOSTILE = [
  '#s=',
  '#s=AAAA',
  '#s=%00',
  `#s=${'A'.repeat(100_000)}`,
  '#lesson=../../etc',
  '#lesson=<script>',
  await at(''),
  await at('\0'),
  await at('[scenario]\nduration = "1e300 s"'),
  await at('x'.repeat(900_000)),
  await at(`[[link]]\nname = "<img src=x onerror=alert(1)>"`),
  await at(text('home').replace('"40 s"', '"40000000 s"')),
  await at(text('home').replace('count = ', 'count = 10000')),
  await at(
    '[scenario]\nname = "<b>x</b>"\nduration = "1 s"\n[[link]]\nname = "a"\nrate = "1 Mbit/s"\n[[flows]]\npath = ["a"]\nrtt = "1 ms"\n',
  ),
];
await check('hostile addresses', async () => {
  for (const hash of HOSTILE) {
    const page = await opened(hash);
    await page.waitForSelector('.headline, .lessons', { timeout: 20_000 });
    await page.waitForTimeout(700);
    const message = await page.locator('main').innerText();
    if (message.length < 50) say(`${hash.slice(0, 40)}: nothing is said`);
    await page.close();
  }
});

await check('200 runs', async () => {
  const page = await opened();
  await settled(page);
  const slider = page.locator('input[type=text][aria-label="Seed as a number"]');
  const memory = async () => {
    const client = await page.context().newCDPSession(page);
    await client.send('HeapProfiler.collectGarbage');
    const { usedSize } = (await client.send('Runtime.getHeapUsage')) as { usedSize: number };
    return usedSize / 1e6;
  };
  let early = 0;
  for (let run = 2; run <= 201; run++) {
    await slider.fill(String(run));
    await slider.press('Enter');
    await page.waitForTimeout(20);
    await page.waitForFunction(() => document.querySelector('.headline')?.getAttribute('aria-busy') === 'false', null, {
      timeout: 30_000,
    });
    if (run === 40) early = await memory();
  }
  await settled(page);
  const late = await memory();
  console.log(`  heap ${early.toFixed(1)} MB after 40 runs, ${late.toFixed(1)} MB after 200`);
  if (late > early * 1.5 + 5) say(`memory grows from ${early.toFixed(1)} to ${late.toFixed(1)} MB`);
  await page.close();
});

await browser.close();
server.close();
if (problems.length) {
  console.error([...new Set(problems)].join('\n'));
  process.exit(1);
}
console.log('no problem found');
