import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { marked } from 'marked';
import { defineConfig, type Plugin } from 'vite';

/** Allows the page its own files and nothing else: no other server, no inline script or style. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "worker-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
].join('; ');

function policy(): Plugin {
  const tag = {
    tag: 'meta',
    attrs: { 'http-equiv': 'Content-Security-Policy', content: POLICY },
    injectTo: 'head-prepend' as const,
  };
  return { name: 'policy', apply: 'build', transformIndexHtml: () => [tag] };
}

/** The engines come while the page's script still does. */
function early(): Plugin {
  return {
    name: 'early',
    apply: 'build',
    transformIndexHtml: {
      order: 'post',
      handler: (_, { bundle }) => {
        const names = Object.keys(bundle ?? {}).filter((name) => name.endsWith('.wasm'));
        const attrs = { rel: 'preload', as: 'fetch', type: 'application/wasm', crossorigin: true };
        return names.map((name) => ({
          tag: 'link',
          attrs: { ...attrs, href: `./${name}` },
          injectTo: 'head' as const,
        }));
      },
    },
  };
}

/** A lesson in Markdown: title, summary, scenario, checks, text, and notes for teachers. */
export function lesson(text: string): Record<string, unknown> {
  const block = (kind: string) => new RegExp(`^\`\`\`${kind}\\n([\\s\\S]*?)^\`\`\`\\n`, 'm').exec(text)?.[1] ?? '';
  const plain = text.replace(/^```(?:scenario|check|solution)\n[\s\S]*?^```\n/gm, '');
  const [main, teachers] = plain.split(/^## For teachers$/m) as [string, string | undefined];
  const html = (markdown: string) => marked.parse(markdown, { async: false });
  return {
    title: /^# (.+)$/m.exec(text)?.[1] ?? '',
    summary: /^\*(.+)\*$/m.exec(text)?.[1] ?? '',
    scenario: block('scenario'),
    checks: block('check').split('\n').filter(Boolean),
    solution: block('solution').split('\n').filter(Boolean),
    html: html(main),
    teachers: html(teachers ?? ''),
  };
}

function lessons(): Plugin {
  return {
    name: 'lessons',
    enforce: 'pre',
    load(id) {
      if (!id.endsWith('.md')) return null;
      return `export default ${JSON.stringify(lesson(readFileSync(id, 'utf8')))}`;
    },
  };
}

const OUT = fileURLToPath(new URL('../out/page', import.meta.url));

/** Files worth it lie compressed beside themselves: servers that know how send those. */
function compressed(): Plugin {
  return {
    name: 'compressed',
    apply: 'build',
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: 'utf8' })) {
        if (!/\.(?:js|css|html|wasm)$/.test(name)) continue;
        const plain = readFileSync(`${OUT}/${name}`);
        const size = { params: { [constants.BROTLI_PARAM_SIZE_HINT]: plain.length } };
        writeFileSync(`${OUT}/${name}.br`, brotliCompressSync(plain, size));
        writeFileSync(`${OUT}/${name}.gz`, gzipSync(plain, { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  base: './',
  plugins: [policy(), early(), lessons(), compressed()],
  esbuild: { jsx: 'automatic', jsxImportSource: 'preact' },
  worker: { format: 'es' },
  build: {
    outDir: OUT,
    emptyOutDir: true,
    target: 'es2022',
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    chunkSizeWarningLimit: 900,
  },
  server: { fs: { allow: ['..'] } },
  test: { include: ['test/**/*.test.ts'] },
} as import('vite').UserConfig);
