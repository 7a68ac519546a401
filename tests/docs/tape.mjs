// SPDX-License-Identifier: Apache-2.0
// A tape: what went over the wire in one exchange, as text for a page. "→" was sent by the client, "←" by the daemon. "jsonrpc" is left
// out, "…" stands for members that a page does not show, and what is another at each run (ids, times, paths) is replaced by what is not.

import { execFileSync } from 'node:child_process';
import crypto from 'node:crypto';
import { STATUS_CODES } from 'node:http';
import { ACPD } from '../lib/daemon.mjs';

const WIDTH = 116;

// --- JSON in lines of a page's width -------------------------------------------------------------------------------------------

const isObject = (v) => v !== null && typeof v === 'object';
const named = (name, text) => `${JSON.stringify(name)}: ${text}`;

function flat(v) {
  if (v === ELIDED)
    return '…';
  if (Array.isArray(v))
    return `[${v.map(flat).join(', ')}]`;
  if (!isObject(v))
    return JSON.stringify(v);
  return `{${Object.entries(v).map(([name, value]) => (name === '…' ? '…' : named(name, flat(value)))).join(', ')}}`;
}

// Members follow each other like words; one that fits on no line begins a line and goes on inside of itself.
class Page {
  lines;

  constructor(first, indent) {
    this.lines = [first];
    this.indent = indent;
  }

  #room(text, depth, after) {
    return this.lines.at(-1).length + text.length + after <= WIDTH ? '' : `\n${' '.repeat(this.indent + 2 * depth)}`;
  }

  #put(text) {
    this.lines[this.lines.length - 1] += text;
  }

  #newLine(depth) {
    this.lines.push(' '.repeat(this.indent + 2 * depth));
  }

  // after: how many brackets and commas follow on the same line
  write(v, depth = 1, after = 0) {
    const text = flat(v);

    if (!this.#room(text, depth, after))
      return this.#put(text);
    if (!isObject(v) || v === ELIDED)
      return typeof v === 'string' ? this.#long(text, depth) : this.#put(text);
    const list = Array.isArray(v);
    const members = list ? v.map((x) => ['', x]) : Object.entries(v);

    this.#put(list ? '[' : '{');
    for (const [i, [name, value]] of members.entries()) {
      const head = list || name === '…' ? '' : `${JSON.stringify(name)}: `;
      const end = i + 1 < members.length ? 1 : after + 1;
      const whole = name === '…' ? '…' : head + flat(value);

      if (i > 0)
        this.#room(` ${whole}`, depth, end) ? this.#newLine(depth) : this.#put(' ');
      else if (this.#room(whole, depth, end) && this.indent + 2 * depth + whole.length + end <= WIDTH)
        this.#newLine(depth);
      if (name === '…')
        this.#put('…');
      else {
        this.#put(head);
        this.write(value, depth + 1, end);
      }
      if (i + 1 < members.length)
        this.#put(',');
    }
    return this.#put(list ? ']' : '}');
  }

  // A long string is broken behind its newlines and blanks.
  #long(text, depth) {
    for (const piece of text.split(/(?<=\\n)/)) {
      if (this.#room(piece, depth, 2) && this.lines.at(-1).trim())
        this.#newLine(depth);
      for (const word of piece.split(/(?<= )/)) {
        if (this.#room(word, depth, 2))
          this.#newLine(depth);
        this.#put(word);
      }
      if (piece.endsWith('\\n'))
        this.#newLine(depth);
    }
    if (!this.lines.at(-1).trim())
      this.lines.pop();
  }
}

function json(first, indent, value) {
  const page = new Page(first, indent);

  page.write(value);
  return page.lines.map((l) => l.trimEnd());
}

// --- what is another at each run -----------------------------------------------------------------------------------------------

export const ELIDED = Symbol('…');
const TIME = '2026-11-21T08:00:00.000Z';
const VERSION = execFileSync(ACPD, ['--version'], { encoding: 'utf8' }).trim().replace(/^acpd /, '');
const ALWAYS = {
  incarnation: '6f0c7d1e9b3a45528d64c1f0a2e7b913', ts: TIME, tsStart: TIME, tsEnd: TIME, updatedAt: TIME, askedAt: TIME, createdAt: TIME, expiresAt: '2026-11-21T08:10:00.000Z', timeMs: Date.parse(TIME),
  durationMs: 9, ttftMs: 3, executionTime: 12,
};
// Long, and the same on every page.
const SHORTENED = ['modes', 'configOptions', 'capabilities', 'features', 'limits', 'isolation', 'level', 'process'];
const isShort = (name, v) => isObject(v) && (name !== 'capabilities' || 'promptCapabilities' in v);

export class Tape {
  lines = [];
  #on = true;
  #keep;
  #hex = new Map();
  #sessions = new Map();

  // whole: members that are shown although they are long
  constructor(d, { whole = [] } = {}) {
    this.d = d;
    this.short = SHORTENED.filter((name) => !whole.includes(name));
  }

  stop() { this.#on = false; }
  go() { this.#on = true; }

  #text(s) {
    const { workDir, wsDir, dir, token } = this.d;

    return s.replaceAll(workDir, '/workspace').replaceAll(wsDir, '/srv/workspaces').replaceAll(dir, '/srv').replaceAll(token, 'TOKEN').replaceAll(VERSION, '0.1.0').replace(/acpd_[0-9a-f]{64}/g, 'acpd_MINTED')
      .replace(/sess_[0-9a-f]{32}(?=:\d)/g, (id) => this.#session(id)).replace(/(?<![0-9a-f])([0-9a-f]{16}){1,2}(?![0-9a-f])/g, (id) => this.#named(id));
  }

  // The first random number of an exchange is always the same, and so on.
  #named(id) {
    if (!this.#hex.has(id))
      this.#hex.set(id, crypto.createHash('sha256').update(`${this.#hex.size}`).digest('hex').slice(0, id.length));
    return this.#hex.get(id);
  }

  #session(id) {
    if (!this.#sessions.has(id))
      this.#sessions.set(id, `session-${this.#sessions.size + 1}`);
    return this.#sessions.get(id);
  }

  #value(v, name) {
    if (this.short.includes(name) && isShort(name, v))
      return Array.isArray(v) ? [ELIDED] : { '…': 0 };
    if (name in ALWAYS && v !== null)
      return ALWAYS[name];
    if (name === 'sessionId' && v !== 'no-such-session')
      return this.#session(v);
    if (name === 'prevDigest' && v !== null)
      return crypto.createHash('sha256').digest('hex');
    if (v === ELIDED || !isObject(v))
      return typeof v === 'string' ? this.#text(v) : v;
    return Array.isArray(v) ? v.map((x) => (typeof x === 'string' && /^sess_[0-9a-f]{32}$/.test(x) ? this.#session(x) : this.#value(x))) : Object.fromEntries(Object.entries(v).map(([n, x]) => [n, this.#value(x, n)]));
  }

  // --- writing -----------------------------------------------------------------------------------------------------------------

  note(text) {
    if (this.#on)
      this.lines.push('', `# ${text}`);
  }

  line(arrow, first, headers = []) {
    if (this.#on)
      this.lines.push(`${arrow} ${this.#text(first)}`, ...headers.map((h) => `    ${this.#text(h)}`));
  }

  show(arrow, { jsonrpc, ...msg }) {
    if (this.#on)
      this.lines.push(...json(`${arrow} `, 2, this.#value(msg)));
  }

  // Everything that a client sends and gets from now on. keep(msg): the message as it is shown, or nothing.
  listen(c, keep = (m) => m) {
    const send = c.send.bind(c);
    const take = (arrow, msg) => {
      // pushed at its own time, wherever an exchange then is
      const kept = msg.method === '_acpd/status' && msg.id === undefined ? undefined : keep(msg);

      if (kept)
        this.show(arrow, kept);
    };

    c.send = (msg) => {
      take('→', msg);
      send(msg);
    };
    c.ws.on('message', ({ payload }) => take('←', JSON.parse(payload.toString())));
  }

  // One HTTP request and its answer. show: the headers of the answer that are shown; keep: as above, for the answer's body.
  async http(where, { method = 'GET', headers = {}, body, token = this.d.token, show = [], keep = (m) => m } = {}) {
    const answer = await this.d.http(where, { method, headers, body, token });

    this.line('→', `${method} ${where}`, [...(token ? ['Authorization: Bearer TOKEN'] : []), ...Object.entries(headers).map(([n, v]) => `${n}: ${v}`)]);
    this.#body(body);
    this.line('←', `${answer.status} ${STATUS_CODES[answer.status]}`, show.map((h) => `${h}: ${answer.headers[h.toLowerCase()]}`));
    this.#body(answer.body, keep);
    return answer;
  }

  #body(body, keep = (m) => m) {
    if (!body?.length || !this.#on)
      return;
    let msg;

    try {
      msg = keep(JSON.parse(body.toString()));
    } catch {
      this.lines.push(`    (${body.length} bytes)`);
      return;
    }
    const { jsonrpc, ...rest } = msg;
    this.lines.push(...json('    ', 4, this.#value(rest)));
  }
}
