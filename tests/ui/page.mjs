// SPDX-License-Identifier: Apache-2.0
// Pages of the viewer's components, built and served as the daemon would.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const TOP = fileURLToPath(new URL('../../', import.meta.url));
const UI = path.join(TOP, 'images/ui');
export const VIEWS = path.join(UI, 'src/views');

// The packages that the components need: those of make ui, which only one of the files that run at once may install.
export function packages() {
  fs.mkdirSync(path.join(TOP, 'build'), { recursive: true });
  if (!fs.existsSync(path.join(UI, 'node_modules/.lock-sha256')))
    execFileSync('flock', ['build/ui.lock', 'make', '-s', 'ui'], { cwd: TOP, stdio: 'inherit' });
}

export const BUILT = path.join(TOP, 'build/ui');

// The viewer as it is now; make knows whether there is something to do.
export function viewer() {
  packages();
  execFileSync('flock', ['build/ui.lock', 'make', '-s', 'ui'], { cwd: TOP, stdio: 'inherit' });
  return BUILT;
}

const TYPES = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };
const CSP = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

// Builds the page of images/ui/src/gallery/ENTRY.tsx and serves it with the policy that the daemon sends.
export async function servePage(entry) {
  packages();
  const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-views-'));
  const { buildPage } = await import(path.join(UI, 'gallery.mjs'));

  buildPage(dir, entry);
  const server = http.createServer((request, response) => {
    const name = request.url === '/' ? 'index.html' : path.basename(request.url);
    const file = path.join(dir, name);

    response.setHeader('Content-Security-Policy', CSP);
    response.setHeader('Content-Type', TYPES[path.extname(name)] ?? 'text/plain');
    response.writeHead(fs.existsSync(file) ? 200 : 404);
    response.end(fs.existsSync(file) ? fs.readFileSync(file) : '');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      fs.rmSync(dir, { recursive: true });
    },
  };
}
