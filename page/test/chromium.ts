// How the tests drive a browser, and what they ask of every page: here of the laboratory, in reports.ts of reports.

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Browser, chromium, type Page } from 'playwright-core';

const FLAGS = ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run'];
const QUIET = ['--disable-background-networking', '--disable-component-update', '--disable-sync'];
const axe = readFileSync(fileURLToPath(new URL('../node_modules/axe-core/axe.min.js', import.meta.url)), 'utf8');

export function launched(program: string): Promise<Browser> {
  return chromium.launch({ executablePath: program, args: [...FLAGS, ...QUIET] });
}

/** Tell what a visitor would not see: errors, warnings, and requests that are not allowed. */
export function overheard(page: Page, say: (what: string) => void, allowed: (url: string) => boolean): void {
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && say(`console: ${message.text()}`));
  page.on('pageerror', (error) => say(error.message));
  page.on('request', (request) => !allowed(request.url()) && say(`request: ${request.url()}`));
}

/** What rules of axe are broken. */
export async function accessible(page: Page): Promise<string[]> {
  // the policy of the page allows no script of others; the debugger may
  const client = await page.context().newCDPSession(page);
  await client.send('Runtime.evaluate', { expression: axe });
  const { result } = await client.send('Runtime.evaluate', {
    expression: `axe.run(document).then((all) => JSON.stringify(all.violations.map((one) => one.id + ': ' + one.nodes.map((n) => n.target + ' ' + n.any.map((a) => a.message)).slice(0, 3).join(' | '))))`,
    awaitPromise: true,
    returnByValue: true,
  });
  await client.detach();
  return (JSON.parse(String(result.value)) as string[]).map((violation) => `axe: ${violation}`);
}

/** What makes the page wider than its screen. */
export async function wide(page: Page): Promise<string[]> {
  // figures take a new width in the frame after it
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (over <= 0) return [];
  const elements = await page.evaluate(() =>
    [...document.querySelectorAll('body *')]
      .filter((element) => element.getBoundingClientRect().right > window.innerWidth + 1)
      .map((element) => `${element.tagName}.${element.className}`),
  );
  return [`${over} pixels wider than the screen: ${elements.slice(0, 4)}`];
}
