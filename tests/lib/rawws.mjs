// SPDX-License-Identifier: Apache-2.0
// An RFC 6455 client of our own on node:net, with no rule that a test cannot break.
//
// RawWs.open() makes the handshake from parts that can all be replaced, and resolves with whatever
// HTTP answer came. After a 101 every frame is recorded as it was received; ping and close are
// answered unless told otherwise. AcpClient (acp.mjs, re-exported here) speaks JSON-RPC over it.

import net from 'node:net';
import crypto from 'node:crypto';
import { EventEmitter, once } from 'node:events';

const GUID = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11';

export const OP = { cont: 0, text: 1, binary: 2, close: 8, ping: 9, pong: 10 };

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// Slow machines and instrumented daemons multiply every waiting time of the library by this.
export const SLOW = Number(process.env.ACPD_TEST_SLOW ?? 1);

// How long a test waits for what has to come before it gives up: at least a minute, because a busy machine makes everything late. That
// is no limit of the product, and proves nothing about how fast it is. A test of "at once" shows it by events (what had not happened by
// then), or sets the limit that must not be waited for to an hour. A test that expects that nothing comes does not wait by this.
export const patience = (ms) => Math.max(ms, 60000) * SLOW;

export function deadline(promise, ms, what) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timeout after ${patience(ms)} ms: ${what}`)), patience(ms));
    timer.unref(); // what nobody waits for any more does not hold up the end of a file
  });

  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// The two ways to present a token.
export const bearer = (token) => `Bearer ${token}`;
export const bearerProtocol = (token) => `acpd.bearer.${Buffer.from(token).toString('base64url')}`;

// One frame as bytes. `length` forces a length form (7, 16 or 64 bits) or a false one is up to bytes.
export function frame({ opcode = OP.text, payload = '', fin = true, rsv = 0, mask = true, maskKey, length } = {}) {
  const data = Buffer.isBuffer(payload) ? payload : Buffer.from(payload);
  const bits = length ?? (data.length < 126 ? 7 : data.length < 65536 ? 16 : 64);
  const head = Buffer.alloc(2 + (bits === 16 ? 2 : bits === 64 ? 8 : 0));

  head[0] = (fin ? 0x80 : 0) | (rsv << 4) | opcode;
  head[1] = (mask ? 0x80 : 0) | (bits === 7 ? data.length : bits === 16 ? 126 : 127);
  if (bits === 16)
    head.writeUInt16BE(data.length, 2);
  else if (bits === 64)
    head.writeBigUInt64BE(BigInt(data.length), 2);
  if (!mask)
    return Buffer.concat([head, data]);
  const key = maskKey ?? crypto.randomBytes(4);
  const out = Buffer.from(data);
  for (let i = 0; i < out.length; i++)
    out[i] ^= key[i & 3];
  return Buffer.concat([head, key, out]);
}

// Takes frames off a growing stream of bytes; copies each byte at most twice.
class FrameReader {
  #chunks = [];
  #size = 0;
  #need = 2;

  push(chunk) {
    this.#chunks.push(chunk);
    this.#size += chunk.length;
  }

  *frames() {
    while (this.#size >= this.#need) {
      let all = this.#chunks.length === 1 ? this.#chunks[0] : Buffer.concat(this.#chunks);
      let at = 0;

      for (;;) {
        const got = FrameReader.#parse(all, at);

        if (typeof got === 'number') {
          this.#need = got;
          break;
        }
        at += got.size;
        yield got.frame;
      }
      all = at ? all.subarray(at) : all;
      this.#chunks = all.length ? [all] : [];
      this.#size = all.length;
    }
  }

  // A frame at `at`, or how many bytes must be there for the next try.
  static #parse(buf, at) {
    const left = buf.length - at;

    if (left < 2)
      return 2;
    const masked = (buf[at + 1] & 0x80) !== 0;
    const short = buf[at + 1] & 0x7f;
    const head = 2 + (short === 126 ? 2 : short === 127 ? 8 : 0) + (masked ? 4 : 0);
    if (left < head)
      return head;
    const length = short === 126 ? buf.readUInt16BE(at + 2)
      : short === 127 ? Number(buf.readBigUInt64BE(at + 2)) : short;
    if (left < head + length)
      return head + length;
    const payload = buf.subarray(at + head, at + head + length);
    const minimal = length < 126 ? short === length : length < 65536 ? short === 126 : short === 127;
    return {
      size: head + length,
      frame: {
        fin: (buf[at] & 0x80) !== 0, rsv: (buf[at] >> 4) & 7, opcode: buf[at] & 15,
        masked, minimal, payload,
      },
    };
  }
}

function requestText(opts, key) {
  const { method = 'GET', path = '/acp', httpVersion = '1.1', host = '127.0.0.1', port, token, protocols } = opts;
  const headers = new Map([
    ['Host', `${host}:${port}`],
    ['Upgrade', 'websocket'],
    ['Connection', 'Upgrade'],
    ['Sec-WebSocket-Key', key],
    ['Sec-WebSocket-Version', '13'],
  ]);

  if (token !== undefined && token !== null)
    headers.set('Authorization', bearer(token));
  if (protocols?.length)
    headers.set('Sec-WebSocket-Protocol', protocols.join(', '));
  const extra = Array.isArray(opts.headers) ? opts.headers : Object.entries(opts.headers ?? {});
  const lines = [];
  for (const [name, value] of extra) {
    const known = [...headers.keys()].find((k) => k.toLowerCase() === name.toLowerCase());

    if (known)
      headers.delete(known); // given ones replace ours, null removes them
    if (value !== null && value !== undefined)
      lines.push(`${name}: ${value}`);
  }
  const ours = [...headers].map(([k, v]) => `${k}: ${v}`);
  return [`${method} ${path} HTTP/${httpVersion}`, ...ours, ...lines, '', ''].join('\r\n');
}

function parseHead(text) {
  const [first, ...lines] = text.split('\r\n');
  const headers = {};

  for (const line of lines) {
    const i = line.indexOf(':');
    const name = line.slice(0, i).trim().toLowerCase();
    const value = line.slice(i + 1).trim();

    headers[name] = name in headers ? `${headers[name]}, ${value}` : value;
  }
  const [version, status, ...reason] = first.split(' ');
  return { version, status: Number(status), reason: reason.join(' '), headers, rawHead: text };
}

export class RawWs extends EventEmitter {
  status = 0;
  headers = {};
  body = '';
  frames = []; // every frame: {opcode, fin, rsv, masked, minimal, payload, at}
  closeCode; // 1006 when the connection ended without a close frame
  closeReason = '';
  closedAt; // Date.now()
  error; // of the socket, if any
  autoPong = true;
  autoClose = true;
  record = true; // false: frames are handed out but not kept

  #reader = new FrameReader();
  #head = Buffer.alloc(0);
  #open = false;
  #parts = []; // payloads of a fragmented message

  // Opens a connection and makes the handshake. opts: port (or url), host, path, method,
  // httpVersion, token, protocols, headers (object or pairs; null removes one of ours), key,
  // raw (the whole request as text or bytes), timeout, record, autoPong, autoClose, local.
  static async open(opts) {
    const ws = new RawWs();
    const where = opts.url ? new URL(opts.url) : { hostname: opts.host ?? '127.0.0.1', port: opts.port };
    const full = { ...opts, host: where.hostname, port: Number(where.port) };

    if (opts.url && !opts.path)
      full.path = where.pathname + where.search;
    for (const name of ['record', 'autoPong', 'autoClose'])
      ws[name] = opts[name] ?? ws[name];
    ws.key = opts.key ?? crypto.randomBytes(16).toString('base64');
    ws.socket = net.connect({ host: full.host, port: full.port, noDelay: true });
    ws.#listen();
    await deadline(once(ws.socket, 'connect'), 5000, 'connect');
    ws.socket.write(opts.raw ?? requestText(full, ws.key));
    if (opts.answer === false)
      return ws; // the caller feeds the handshake itself
    await deadline(ws.answered, opts.timeout ?? 10000, 'answer to the handshake');
    return ws;
  }

  #listen() {
    this.answered = new Promise((resolve) => {
      this.#answer = resolve;
    });
    this.closed = new Promise((resolve) => {
      this.socket.on('close', () => {
        this.closeCode ??= 1006;
        this.closedAt = Date.now();
        this.#answer();
        this.emit('closed');
        resolve({ code: this.closeCode, reason: this.closeReason, error: this.error });
      });
    });
    this.socket.on('error', (error) => {
      this.error = error;
    });
    this.socket.on('end', () => this.socket.end());
    this.socket.on('data', (chunk) => this.#data(chunk));
  }

  #answer;

  get isOpen() {
    return this.#open && this.closeCode === undefined;
  }

  // The handshake was accepted, and with the right proof.
  get acceptOk() {
    return this.headers['sec-websocket-accept'] ===
      crypto.createHash('sha1').update(this.key + GUID).digest('base64');
  }

  #data(chunk) {
    if (this.#open) {
      this.#reader.push(chunk);
      this.#drain();
      return;
    }
    this.#head = Buffer.concat([this.#head, chunk]);
    const end = this.#head.indexOf('\r\n\r\n');
    if (end < 0)
      return;
    if (!this.status)
      Object.assign(this, parseHead(this.#head.subarray(0, end).toString('latin1')));
    const rest = this.#head.subarray(end + 4);
    if (this.status === 101) {
      this.#open = true;
      this.#reader.push(rest);
      this.#answer();
      this.#drain();
      return;
    }
    this.body = rest.toString();
    if (rest.length >= Number(this.headers['content-length'] ?? Infinity))
      this.#answer();
    // without a length the answer is complete when the connection closes
  }

  #drain() {
    for (const f of this.#reader.frames())
      this.#frame(f);
  }

  #frame(f) {
    if (this.record)
      this.frames.push({ ...f, at: performance.now() });
    this.emit('frame', f);
    if (f.opcode === OP.ping && this.autoPong)
      this.send(OP.pong, f.payload);
    if (f.opcode === OP.close) {
      this.closeCode ??= f.payload.length >= 2 ? f.payload.readUInt16BE(0) : 1005;
      this.closeReason = f.payload.subarray(2).toString();
      if (this.autoClose && !this.closeSent)
        this.close(...(f.payload.length >= 2 ? [this.closeCode] : []));
    }
    if (f.opcode > OP.binary)
      return;
    this.#parts.push(f);
    if (!f.fin)
      return;
    const parts = this.#parts.splice(0);
    const payload = parts.length === 1 ? parts[0].payload : Buffer.concat(parts.map((p) => p.payload));
    this.emit('message', { opcode: parts[0].opcode, payload, frames: parts.length });
  }

  // --- sending -------------------------------------------------------------------------

  bytes(data) {
    return this.socket.write(data);
  }

  sendFrame(spec) {
    return this.bytes(frame(spec));
  }

  send(opcode, payload) {
    return this.sendFrame({ opcode, payload });
  }

  text(text) {
    return this.send(OP.text, text);
  }

  binary(payload) {
    return this.send(OP.binary, payload);
  }

  ping(payload = '') {
    return this.send(OP.ping, payload);
  }

  close(code, reason = '') {
    const payload = Buffer.alloc(code === undefined ? 0 : 2 + Buffer.byteLength(reason));

    if (code !== undefined) {
      payload.writeUInt16BE(code, 0);
      payload.write(reason, 2);
    }
    this.closeSent = true;
    return this.send(OP.close, payload);
  }

  // One text message in n frames; `between(i)` is called before frame i > 0 (for pings and the like).
  fragments(text, n, between = () => {}) {
    const data = Buffer.from(text);
    const size = Math.ceil(data.length / n);

    for (let i = 0; i < n; i++) {
      if (i)
        between(i);
      this.sendFrame({
        opcode: i ? OP.cont : OP.text, fin: i === n - 1,
        payload: data.subarray(i * size, (i + 1) * size),
      });
    }
  }

  // --- the connection ------------------------------------------------------------------

  pause() {
    this.socket.pause();
  }

  resume() {
    this.socket.resume();
  }

  reset() { // RST, as a dying machine or a cut cable with state loss
    this.socket.resetAndDestroy();
  }

  destroy() {
    this.socket.destroy();
  }

  // A frame that was or will be received.
  async waitFrame(pred, { timeout = 10000, from = 0 } = {}) {
    const found = this.frames.slice(from).find(pred);
    const later = () => new Promise((resolve, reject) => {
      const on = (f) => pred(f) && done(resolve, f);
      const end = () => done(reject, new Error(`closed (${this.closeCode}) while waiting for a frame`));
      const done = (how, value) => {
        this.off('frame', on);
        this.off('closed', end);
        how(value);
      };

      this.on('frame', on);
      this.on('closed', end);
    });

    return found ?? deadline(later(), timeout, 'a frame');
  }

  waitClosed(timeout = 10000) {
    return deadline(this.closed, timeout, 'the connection to close');
  }
}

export { AcpClient, RpcError, allViolations, assertNoViolations } from './acp.mjs';
