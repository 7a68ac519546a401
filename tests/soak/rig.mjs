// SPDX-License-Identifier: Apache-2.0
// Both far ends of the soak: a provider that streams what the path asks for, and a harness that reads it as it was told to.

import http from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const PIECE = 'data: {"choices":[{"delta":{"content":"some words of an answer, which come as a model says them"}}]}\n\n';
const END = 'data: [DONE]\n\n';

// What each stream says: so many pieces, and the end.
export const answerOf = (pieces) => PIECE.repeat(pieces) + END;

// Until there is room again, or nobody listens any more.
function drained(res) {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done);
      resolve();
    };

    res.on('drain', done).on('close', done);
    if (res.destroyed)
      done();
  });
}

// Bodies say what the provider does: {act, pieces, ms}. `open` counts its answers that go on.
export class Provider {
  open = 0;
  asked = 0;

  static async start() {
    const p = new Provider();

    p.http = http.createServer((req, res) => p.#serve(req, res).catch(() => res.destroy()));
    p.http.keepAliveTimeout = 60_000;
    await new Promise((done) => { p.http.listen(0, '127.0.0.1', done); });
    p.url = `http://127.0.0.1:${p.http.address().port}`;
    return p;
  }

  async #serve(req, res) {
    let body = '';

    this.asked++;
    this.open++;
    res.on('close', () => { this.open--; });
    for await (const data of req)
      body += data;
    const { act, pieces, ms } = JSON.parse(body);
    if (act === 'refused') {
      res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '1' });
      res.end('{"error":{"message":"later","code":"rate_limit_exceeded"}}');
      return;
    }
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let i = 0; i < pieces && !res.destroyed; i++) {
      if (act === 'cut' && i > pieces / 2) {
        res.socket.resetAndDestroy();
        return;
      }
      if (!res.write(PIECE))
        await drained(res);
      if (ms)
        await sleep(ms);
    }
    res.end(END);
  }

  async close() {
    this.http.closeAllConnections();
    await new Promise((done) => { this.http.close(done); });
  }
}

// One call of a harness: how it ended ('whole', 'cut', 'cancelled', or the status of a refusal) and how much came. slow: ms that it
// leaves the answer lying, several times; cancelAt: bytes after which it hangs up.
export function call({ root, key }, agent, body, { slow = 0, cancelAt = Infinity } = {}) {
  return new Promise((resolve) => {
    let bytes = 0, cancelled = false;
    const end = (how) => resolve({ how: cancelled ? 'cancelled' : how, bytes });
    const req = http.request(`${root}/v1/chat/completions`, { method: 'POST', agent, headers: { authorization: `Bearer ${key}`,
      'content-type': 'application/json' } }, (res) => {
      let lain = 0;

      res.on('data', (data) => {
        bytes += data.length;
        if (bytes >= cancelAt) {
          cancelled = true;
          req.destroy();
        } else if (slow && bytes > lain * 100_000) {
          lain++;
          res.pause();
          setTimeout(() => res.resume(), slow);
        }
      });
      res.on('end', () => end(res.statusCode === 200 ? 'whole' : String(res.statusCode)));
      res.on('close', () => end('cut'));
    });

    req.on('error', () => end('cut'));
    req.end(JSON.stringify({ model: 'stub-small', stream: true, ...body }));
  });
}
