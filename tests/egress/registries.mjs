// SPDX-License-Identifier: Apache-2.0
// Servers for real programs on the far side (lib/far-side.mjs): git over HTTP, a simple index of Python packages, a registry of npm, and for
// all other hosts what was asked of whom.

import { spawn } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import zlib from 'node:zlib';
import { END, file } from '../archives/tar.mjs';

// git-http-backend(1), as a web server runs it.
function git(req, res, { dir }) {
  const url = new URL(req.url, 'http://git');
  const backend = spawn('git', ['http-backend'], { stdio: ['pipe', 'pipe', 'ignore'], env: { PATH: process.env.PATH, HOME: dir, GIT_PROJECT_ROOT: path.join(dir, 'git'),
    GIT_HTTP_EXPORT_ALL: '1', PATH_INFO: url.pathname, QUERY_STRING: url.search.slice(1), REQUEST_METHOD: req.method, REMOTE_USER: 'agent',
    CONTENT_TYPE: req.headers['content-type'] ?? '', CONTENT_LENGTH: req.headers['content-length'] ?? '', HTTP_CONTENT_ENCODING: req.headers['content-encoding'] ?? '',
    GIT_PROTOCOL: req.headers['git-protocol'] ?? '' } });
  const parts = [];

  req.pipe(backend.stdin.on('error', () => {}));
  backend.stdout.on('data', (b) => parts.push(b)).on('end', () => {
    const out = Buffer.concat(parts);
    const end = out.indexOf('\r\n\r\n');
    const fields = out.subarray(0, end).toString('latin1').split('\r\n').map((line) => line.split(': '));
    const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200';

    res.writeHead(parseInt(status, 10), Object.fromEntries(fields.filter(([name]) => name !== 'Status')));
    res.end(out.subarray(end + 4));
  });
}

function wheels(req, res, { dir }) {
  const name = 'small-1.0-py3-none-any.whl';

  if (req.url === '/simple/small/')
    res.setHeader('content-type', 'text/html').end(`<!DOCTYPE html><html><body><a href="/files/${name}">${name}</a></body></html>`);
  else if (req.url === `/files/${name}`)
    res.end(fs.readFileSync(path.join(dir, name)));
  else
    res.writeHead(404).end();
}

const tarball = zlib.gzipSync(Buffer.concat([file('package/package.json', '{"name":"small","version":"1.0.0","main":"index.js"}'),
  file('package/index.js', 'module.exports = "from the registry";\n'), END]));

function packages(req, res) {
  if (req.url.endsWith('.tgz')) {
    res.end(tarball);
    return;
  }
  if (req.url !== '/small') {
    res.writeHead(404).end('{}');
    return;
  }
  const integrity = `sha512-${crypto.createHash('sha512').update(tarball).digest('base64')}`;
  const dist = { tarball: `https://${req.headers.host}/small/-/small-1.0.0.tgz`, integrity };

  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ name: 'small', 'dist-tags': { latest: '1.0.0' }, versions: { '1.0.0': { name: 'small', version: '1.0.0', main: 'index.js', dist } } }));
}

const HOSTS = { 'git.example': git, 'wheels.example': wheels, 'packages.example': packages };

export default (req, res, world) => (HOSTS[req.headers.host] ?? (() => res.end(`reached ${req.headers.host}`)))(req, res, world);

// What they serve from dir.
export function fill(dir, run) {
  run('git', ['init', '-q', '--bare', '-b', 'main', path.join(dir, 'git/repo.git')]);
  run('git', ['-C', path.join(dir, 'git/repo.git'), 'config', 'http.receivepack', 'true']);
  run('python3', ['-c', `import zipfile, sys
with zipfile.ZipFile(sys.argv[1], 'w') as z:
  z.writestr('small.py', 'said = "from the index"')
  z.writestr('small-1.0.dist-info/METADATA', 'Metadata-Version: 2.1\\nName: small\\nVersion: 1.0\\n')
  z.writestr('small-1.0.dist-info/WHEEL', 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: py3-none-any\\n')
  z.writestr('small-1.0.dist-info/RECORD', '')`, path.join(dir, 'small-1.0-py3-none-any.whl')]);
}
