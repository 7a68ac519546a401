// gallery.mjs OUT - the page of src/gallery/ into the folder OUT: each component with sample data, to be looked at. Only for who works on
// the viewer; run make ui once before, for its packages.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = dirname(fileURLToPath(import.meta.url));

export function buildPage(out, entry = 'gallery') {
  const source = join(here, 'src/gallery');
  const esbuild = join(here, 'node_modules/@esbuild/linux-x64/bin/esbuild');
  const bundle = (from, to, ...more) => execFileSync(esbuild, [join(source, from), `--outfile=${join(out, to)}`, '--bundle', '--charset=utf8',
    '--log-level=warning', ...more], { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] });

  mkdirSync(out, { recursive: true });
  bundle(`${entry}.tsx`, 'app.js', '--format=iife', '--target=es2022', '--define:process.env.NODE_ENV="production"');
  bundle('gallery.css', 'app.css');
  writeFileSync(join(out, 'index.html'), readFileSync(join(here, 'index.html')));
}

if (process.argv[1] === fileURLToPath(import.meta.url)) buildPage(resolve(process.argv[2]));
