// SPDX-License-Identifier: Apache-2.0
// `acpd archive` over the local socket and over a URL: put, have, get, list, rm say the same on both.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import net from 'node:net';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder } from '../../lib/daemon.mjs';
import { digestOf, tarOf } from '../../lib/archives.mjs';
import { acpd } from '../run.mjs';

let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

const ways = () => [['--run-dir', d.runDir], ['--socket', d.acpSocket], ['--url', d.url, '--token-file', d.tokenFile]];

test('put, have, get, list and rm, locally without a token and by URL with one', async () => {
  for (const [i, way] of ways().entries()) {
    const data = tarOf(300000, 40 + i), digest = digestOf(data);
    const file = path.join(d.workDir, `a${i}.tar`), copy = path.join(d.workDir, `b${i}.tar`);
    const run = (...args) => acpd(['archive', ...args, ...way], { clean: true });

    fs.writeFileSync(file, data);
    assert.equal((await run('have', digest)).code, 1);
    assert.deepEqual(await run('put', file), { code: 0, signal: null, stdout: `${digest}\n`, stderr: '' });
    assert.equal((await run('have', digest)).code, 0);
    assert.equal((await run('get', '-o', copy, digest)).code, 0);
    assert.ok(fs.readFileSync(copy).equals(data));
    const list = await run('list');
    assert.match(list.stdout, new RegExp(`^${digest} +${data.length}  `, 'm'));
    assert.match(list.stdout, /^\d+ of \d+ bytes used$/m);
    const json = JSON.parse((await run('list', '--json')).stdout);
    assert.deepEqual(json.archives.map((a) => [a.digest, a.size]), [[digest, data.length]]);
    assert.deepEqual(await run('rm', digest), { code: 0, signal: null, stdout: '', stderr: '' });
    const again = await run('rm', digest);
    assert.deepEqual([again.code, again.stderr.includes(digest)], [1, true]);
    assert.deepEqual(JSON.parse((await run('list', '--json')).stdout).archives, []);
  }
});

// One connection to acp.sock, what is written at once, what came back until it was closed or said enough.
const raw = (text, enough) => new Promise((resolve, reject) => {
  const socket = http.Agent.prototype.createConnection.call(new http.Agent(), { path: d.acpSocket });
  let got = '';

  socket.on('data', (data) => {
    got += data;
    if (enough?.test(got))
      socket.end();
  });
  socket.on('error', reject);
  socket.on('close', () => resolve(got));
  socket.write(text);
});

test('acp.sock takes JSON lines and HTTP, each from its first byte; requests on one connection follow each other', async () => {
  const init = '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}\n';

  assert.match(await raw(init, /\n/), /^\{"jsonrpc":"2\.0","id":1,"result"/);
  const two = await raw('GET /v1/sessions HTTP/1.1\r\nHost: anything\r\n\r\nGET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', /status/);
  assert.deepEqual([...two.matchAll(/HTTP\/1\.1 (\d+)/g)].map((m) => m[1]), ['200', '200']);
  assert.match(await raw('FROB /x HTTP/1.1\r\n\r\n'), /^(HTTP|$)/);
});

// [what a server answers, command, exit code]
const ANSWERS = [
  ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n', 'have', 0],
  ['HTTP/1.1 103 Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n', 'have', 0],
  ['HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n3;x\r\ndef\r\n0\r\n\r\n', 'get', 0],
  ['HTTP/1.1 200 OK\r\n\r\nabcdef', 'get', 0],
];

test('an answer begins behind those that only announce it, and ends as its head says', async (t) => {
  for (const [answer, command, code] of ANSWERS) {
    await t.test(JSON.stringify(answer), async () => {
      const server = net.createServer((s) => s.on('error', () => {}).once('data', () => s.end(answer)));
      const copy = path.join(d.workDir, 'answered.tar');

      await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
      const url = `http://127.0.0.1:${server.address().port}`;
      const r = await acpd(['archive', command, ...(command === 'get' ? ['-o', copy] : []), '--url', url, digestOf(Buffer.from('abcdef'))], { clean: true });

      server.close();
      assert.equal(r.code, code, r.stderr);
      if (command === 'get')
        assert.equal(fs.readFileSync(copy, 'utf8'), 'abcdef');
    });
  }
});
