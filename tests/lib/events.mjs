// SPDX-License-Identifier: Apache-2.0
// A client of the event streams over HTTP that checks the framing as it reads.

import assert from 'node:assert/strict';
import http from 'node:http';
import { linesOf } from './described.mjs';
import { deadline, patience, sleep } from './rawws.mjs';

// One streaming request. Takes events off the body as they come; SSE frames keep their id in `ids`.
export class Stream {
  events = [];
  ids = [];
  comments = 0;
  text = '';
  ended = false; // the body came to its proper end
  cut = false;
  #rest = '';
  #wake = [];

  static open(d, path, { headers = {}, token = d.token, keep = true } = {}) {
    const s = new Stream();

    s.keep = keep;
    return deadline(new Promise((resolve, reject) => {
      s.req = http.get({ host: '127.0.0.1', port: d.port, path, agent: false, headers: { Authorization: `Bearer ${token}`, ...headers } },
        (res) => {
          Object.assign(s, { res, status: res.statusCode, type: res.headers['content-type'] });
          s.lines = linesOf({ method: 'GET', where: path }, s);
          res.setEncoding('utf8');
          res.on('data', (data) => s.#take(data));
          res.on('end', () => { s.ended = true; s.#woken(); });
          res.on('error', () => { s.cut = true; s.#woken(); });
          resolve(s);
        });
      s.req.on('error', (e) => { s.cut = true; s.#woken(); reject(e); });
    }), 10000, `GET ${path}`);
  }

  #take(data) {
    const sse = this.type === 'text/event-stream';
    const parts = (this.#rest + data).split(sse ? '\n\n' : '\n');

    if (this.keep)
      this.text += data;
    this.#rest = parts.pop();
    for (const part of parts)
      sse ? this.#frame(part) : this.#event(JSON.parse(part));
    this.#woken();
  }

  #event(event) {
    this.events.push(event);
    this.lines?.assertNext(event);
  }

  #frame(text) {
    const fields = text.split('\n').map((line) => line.match(/^([a-z]*):(?: (.*))?$/s));

    assert.ok(!fields.includes(null), `no SSE frame: ${JSON.stringify(text)}`);
    if (fields[0][1] === '') {
      this.comments++;
      return;
    }
    assert.match(fields.map((f) => f[1]).join(), /^(id,)?data$/);
    this.ids.push(fields.length === 2 ? Number(fields[0][2]) : undefined);
    this.#event(JSON.parse(fields.at(-1)[2]));
  }

  #woken() {
    for (const w of this.#wake.splice(0))
      w();
  }

  async until(pred, ms = 15000, what = 'the stream') {
    const end = Date.now() + patience(ms);

    while (!pred(this)) {
      if (Date.now() > end)
        throw new Error(`timeout: ${what}; ${this.events.length} events, last ${JSON.stringify(this.events.at(-1))}, ended ${this.ended}, cut ${this.cut}`);
      await Promise.race([new Promise((resolve) => this.#wake.push(resolve)), sleep(50)]);
    }
    return this;
  }

  get seqs() { return this.events.map((e) => e.seq); }
  close() { this.req.destroy(); }
}
