// SPDX-License-Identifier: Apache-2.0
// Archives to upload, and a raw HTTP client that sends bytes exactly as told.

import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import net from 'node:net';
import { patience, sleep } from './rawws.mjs';
import { until } from './wait.mjs';

export const digestOf = (data) => `sha256:${crypto.createHash('sha256').update(data).digest('hex')}`;
export const pathOf = (data) => `/v1/archives/${typeof data === 'string' ? data : digestOf(data)}`;

// A tar of one file with so many bytes, which differ by seed.
export function tarOf(size, seed = 1) {
  const head = Buffer.alloc(512);
  const body = Buffer.alloc(Math.ceil(size / 512) * 512 + 1024);
  const octal = (n, width) => `${n.toString(8).padStart(width - 1, '0')}\0`;

  head.write(`file-${seed}`);
  head.write(octal(0o644, 8), 100);
  head.write(octal(size, 12), 124);
  head.write(octal(0, 12), 136);
  head.write('        0', 148);
  head.write('ustar\x0000', 257);
  head.write(`${octal(head.reduce((a, b) => a + b, 0), 7)} `, 148);
  for (let i = 0, x = seed; i + 4 <= size; i += 4) {
    x = (Math.imul(x, 1664525) + 1013904223) | 0;
    body.writeInt32LE(x, i);
  }
  return Buffer.concat([head, body]);
}

// One connection; send() writes bytes, answer() takes one response with its body.
export class Raw {
  #text = Buffer.alloc(0);
  closed = false;

  static open(d) {
    const raw = new Raw();

    raw.d = d;
    raw.socket = net.connect(d.port, '127.0.0.1');
    raw.socket.setNoDelay(true);
    raw.socket.on('error', () => {});
    raw.socket.on('close', () => { raw.closed = true; });
    raw.socket.on('end', () => { raw.ended = true; });
    raw.socket.on('data', (data) => { raw.#text = Buffer.concat([raw.#text, data]); });
    return new Promise((resolve) => { raw.socket.on('connect', () => resolve(raw)); });
  }

  send(bytes) {
    return new Promise((resolve) => { this.socket.write(bytes, () => resolve()); });
  }

  request(method, where, headers = {}) {
    const all = { Host: `127.0.0.1:${this.d.port}`, Authorization: `Bearer ${this.d.token}`, ...headers };
    const lines = Object.entries(all).filter(([, v]) => v !== undefined).map(([k, v]) => `${k}: ${v}\r\n`);

    return this.send(`${method} ${where} HTTP/1.1\r\n${lines.join('')}\r\n`);
  }

  async #until(pred, timeout, what) {
    const end = Date.now() + patience(timeout);

    while (!pred()) {
      assert.ok(Date.now() < end && !this.closed, `${what}; got ${JSON.stringify(this.#text.toString('latin1').slice(0, 200))}`);
      await sleep(2);
    }
  }

  // {status, headers, body, json}. head: there is no body.
  async answer({ head = false, timeout = 10000 } = {}) {
    await this.#until(() => this.#text.includes('\r\n\r\n'), timeout, 'no answer');
    const at = this.#text.indexOf('\r\n\r\n');
    const [first, ...lines] = this.#text.subarray(0, at).toString('latin1').split('\r\n');
    const headers = Object.fromEntries(lines.map((l) => [l.slice(0, l.indexOf(':')).toLowerCase(), l.slice(l.indexOf(':') + 1).trim()]));
    const length = head ? 0 : Number(headers['content-length'] ?? 0);

    await this.#until(() => this.#text.length >= at + 4 + length, timeout, 'no whole body');
    const body = this.#text.subarray(at + 4, at + 4 + length);
    this.#text = this.#text.subarray(at + 4 + length);
    let json;
    try {
      json = JSON.parse(body);
    } catch { /* not every body is JSON */ }
    return { status: Number(first.slice(9, 12)), headers, body, json };
  }

  async end(timeout = 5000) {
    await until(() => this.closed, 'the connection to be closed', timeout);
    assert.equal(this.#text.length, 0, `more than asked for: ${this.#text.toString('latin1').slice(0, 200)}`);
  }

  destroy() {
    this.socket.destroy();
  }
}

export const chunk = (data, extension = '') => Buffer.concat([Buffer.from(`${data.length.toString(16)}${extension}\r\n`), Buffer.from(data), Buffer.from('\r\n')]);

// PUT by fetch: {status, json, headers}.
export async function put(d, data, { headers = {}, where = pathOf(data) } = {}) {
  const res = await fetch(`http://127.0.0.1:${d.port}${where}`, {
    method: 'PUT', body: data, duplex: 'half', headers: { Authorization: `Bearer ${d.token}`, ...headers },
  });

  return { status: res.status, headers: res.headers, json: await res.json() };
}

// HEAD: {status: 200, size}, {status: 404}, or for a part {status: 404, offset}.
export async function head(d, data) {
  const res = await d.http(pathOf(data), { method: 'HEAD', token: d.token });
  const offset = res.headers['upload-offset'];

  return { status: res.status, ...(offset !== undefined && { offset: Number(offset) }), ...(res.status === 200 && { size: Number(res.headers['content-length']) }) };
}

export async function untilOffset(d, data, offset, timeout = 5000) {
  const end = Date.now() + patience(timeout);
  let now;

  do {
    now = await head(d, data);
    if (now.offset === offset)
      return;
    await sleep(5);
  } while (Date.now() < end);
  assert.fail(`Upload-Offset is ${now.offset} instead of ${offset}`);
}
