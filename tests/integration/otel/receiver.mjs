// SPDX-License-Identifier: Apache-2.0
// A receiver of OTLP over HTTP on loopback that can misbehave. It decodes by the official protobuf texts, which a package of
// OpenTelemetry's own brings (tests/otel), and strictly: what these do not know is an error.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import http from 'node:http';
import path from 'node:path';
import zlib from 'node:zlib';
import { fileURLToPath } from 'node:url';
import { Daemon } from '../../lib/daemon.mjs';
import { until } from '../../lib/wait.mjs';

const FOLDER = fileURLToPath(new URL('../../otel/', import.meta.url));
const protobuf = createRequire(path.join(FOLDER, 'package.json'))('protobufjs');
const TEXTS = path.join(FOLDER, 'node_modules/@opentelemetry/otlp-grpc-exporter-base/build/protos');
const root = new protobuf.Root();

root.resolvePath = (_, file) => path.join(TEXTS, file);
root.loadSync(['trace', 'metrics', 'logs'].map((s) => `opentelemetry/proto/collector/${s}/v1/${s}_service.proto`));

export const SIGNALS = {
  traces: { service: 'Trace', groups: 'resourceSpans', scopes: 'scopeSpans', records: 'spans', rejected: 'rejectedSpans' },
  metrics: { service: 'Metrics', groups: 'resourceMetrics', scopes: 'scopeMetrics', records: 'metrics', rejected: 'rejectedDataPoints' },
  logs: { service: 'Logs', groups: 'resourceLogs', scopes: 'scopeLogs', records: 'logRecords', rejected: 'rejectedLogRecords' },
};
const typeOf = (signal, what) => root.lookupType(`opentelemetry.proto.collector.${SIGNALS[signal].service.toLowerCase()}.v1.Export${SIGNALS[signal].service}Service${what}`);

// Answers: the texts in that package are older than partial success, which all signals have alike.
const { root: answers } = protobuf.parse(`syntax = "proto3";
  message Partial { int64 rejected = 1; string error_message = 2; }
  message Response { Partial partial_success = 1; }`);
const Response = answers.lookupType('Response');

// What it does with a request: an HTTP status, {status, headers, body}, or one of these.
export const HANG = 'hang', CUT = 'cut', ENDLESS = 'endless', STALL = 'stall';

// JSON has ids in hex; the official decoder wants base64.
function idsAsBase64(value) {
  if (Array.isArray(value))
    return value.map(idsAsBase64);
  if (value === null || typeof value !== 'object')
    return value;
  return Object.fromEntries(Object.entries(value).map(([k, v]) => [k,
    ['traceId', 'spanId', 'parentSpanId'].includes(k) ? Buffer.from(v, 'hex').toString('base64') : idsAsBase64(v)]));
}

function valueOf(v) {
  if (v.arrayValue)
    return v.arrayValue.values.map(valueOf);
  return v.stringValue ?? v.boolValue ?? v.doubleValue ?? Number(v.intValue);
}
export const attrs = (list) => {
  const keys = list.map((a) => a.key);

  assert.deepEqual(keys, [...new Set(keys)], 'no attribute stands twice');
  return Object.fromEntries(list.map((a) => [a.key, valueOf(a.value)]));
};

export class Collector {
  requests = []; // {signal, headers, message, status}
  records = { traces: [], metrics: [], logs: [] }; // of requests that were taken
  resources = [];
  behave = () => 200; // (request, how many came before) => how

  static async start(t, { port = 0 } = {}) {
    const r = new Collector();

    r.port = port;
    await r.listen();
    t.after(() => r.close());
    return r;
  }

  async listen() {
    this.server = http.createServer((rq, rs) => this.#take(rq, rs));
    await new Promise((done) => this.server.listen(this.port, '127.0.0.1', done));
    this.port = this.server.address().port;
  }

  async close() {
    const closed = new Promise((done) => this.server.close(done));

    this.server.closeAllConnections();
    await closed;
  }

  get url() { return `http://127.0.0.1:${this.port}`; }

  #take(rq, rs) {
    const pieces = [];

    rq.on('error', () => {});
    rs.on('error', () => {});
    rq.on('data', (b) => pieces.push(b));
    rq.on('end', () => this.#answer(rq, rs, Buffer.concat(pieces)));
  }

  #decode(signal, rq, body) {
    const type = typeOf(signal, 'Request');
    const plain = rq.headers['content-encoding'] === 'gzip' ? zlib.gunzipSync(body) : body;

    if (rq.headers['content-type'] === 'application/json') {
      const value = idsAsBase64(JSON.parse(plain));
      const message = type.fromObject(value);

      assert.equal(type.verify(message), null);
      return type.toObject(message, { longs: String, enums: String, bytes: (b) => b });
    }
    assert.equal(rq.headers['content-type'], 'application/x-protobuf');
    const message = type.decode(plain);
    // encoded anew it is as long: there was nothing in it that the texts do not know
    assert.equal(type.encode(message).finish().length, plain.length, `${signal}: only what the texts have`);
    return type.toObject(message, { longs: String, enums: String });
  }

  #answer(rq, rs, body) {
    const signal = Object.keys(SIGNALS).find((s) => rq.url.endsWith(`/v1/${s}`)) ?? rq.url.split('signal=')[1];
    const request = { signal, url: rq.url, headers: rq.headers, bytes: body.length, message: this.#decode(signal, rq, body) };
    const how = this.behave(request, this.requests.length);
    const answer = how.status ? how : { status: how };

    assert.equal(rq.method, 'POST');
    request.status = how;
    this.requests.push(request);
    if (how === HANG)
      return;
    if (how === CUT) {
      rq.socket.destroy();
      return;
    }
    if (how === ENDLESS) {
      rs.writeHead(200);
      const more = () => { while (!rs.destroyed && rs.write(Buffer.alloc(65536))); };
      rs.on('drain', more);
      more();
      return;
    }
    if (answer.status === 200 || how === STALL)
      this.#keep(signal, request.message);
    if (how === STALL) {
      rs.writeHead(200, { 'Content-Length': 1 }).flushHeaders();
      return;
    }
    const json = rq.headers['content-type'] === 'application/json';
    const partial = (name) => (answer.rejected ? { partialSuccess: { [name]: answer.rejected, errorMessage: answer.message } } : {});
    const said = json ? JSON.stringify(partial(SIGNALS[signal].rejected)) : Response.encode(Response.fromObject(partial('rejected'))).finish();
    rs.writeHead(answer.status, { 'Content-Type': rq.headers['content-type'], ...answer.headers }).end(answer.status === 200 ? said : answer.body ?? '');
  }

  #keep(signal, message) {
    const { groups, scopes, records } = SIGNALS[signal];

    for (const group of message[groups]) {
      this.resources.push(attrs(group.resource.attributes));
      for (const scope of group[scopes]) {
        assert.equal(scope.scope.name, 'acpd');
        this.records[signal].push(...scope[records]);
      }
    }
  }

  // Spans with their ids in hex, their attributes as an object and their time in ms.
  get spans() {
    return this.records.traces.map((s) => ({
      name: s.name, kind: s.kind, trace: s.traceId.toString('hex'), id: s.spanId.toString('hex'), parent: s.parentSpanId?.toString('hex') || undefined,
      state: s.traceState || undefined, status: s.status, attrs: attrs(s.attributes ?? []), from: Number(s.startTimeUnixNano) / 1e6, to: Number(s.endTimeUnixNano) / 1e6,
    }));
  }

  find(name) { return this.spans.filter((s) => s.name === name || s.name.startsWith(`${name} `)); }

  // The spans of that name, once there are n.
  async until(name, n = 1, ms = 20000) {
    await until(() => this.find(name).length >= n, `${n} spans ${name}; there are ${this.spans.map((s) => s.name)}`, ms);
    return this.find(name);
  }
}

// A daemon that exports to it, quickly. env: further variables.
export const QUICK = { OTEL_BSP_SCHEDULE_DELAY: '20', OTEL_BLRP_SCHEDULE_DELAY: '20', OTEL_METRIC_EXPORT_INTERVAL: '200' };
export const exporting = (t, r, { env, ...opts } = {}) =>
  Daemon.startFor(t, { env: { OTEL_EXPORTER_OTLP_ENDPOINT: r.url, OTEL_METRICS_EXPORTER: 'none', OTEL_LOGS_EXPORTER: 'none', ...QUICK, ...env }, ...opts });
