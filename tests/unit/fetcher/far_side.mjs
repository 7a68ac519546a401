// far_side.mjs DIR - the server of test_fetcher.c: http, https, https with HTTP/2 only, https with a certificate of an unknown
// authority, and an HTTP proxy, each on a port of the loopback. Prints the five ports on one line. DIR has *.key and *.pem.
import fs from 'node:fs';
import http from 'node:http';
import http2 from 'node:http2';
import https from 'node:https';
import net from 'node:net';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';

const dir = process.argv[2];
const read = (name) => fs.readFileSync(`${dir}/${name}`);
const pair = (name) => ({ key: read(`${name}.key`), cert: read(`${name}.pem`) });
let aborted = 0, floods = 0;

async function flood(res, bytes, piece) {
  const block = Buffer.alloc(piece, 'x');
  res.setMaxListeners(0);
  for (let sent = 0; sent < bytes && !res.destroyed; sent += piece) {
    floods = sent;
    if (!res.write(block)) await new Promise((go) => res.once('drain', go).once('close', go));
  }
  res.end();
}

async function drip(res, n, ms) {
  for (let i = 0; i < n && !res.destroyed; i++) {
    res.write(`data: ${i}\n\n`);
    await new Promise((go) => setTimeout(go, ms));
  }
  res.end();
}

function echo(req, res) {
  const parts = [];
  req.on('data', (b) => parts.push(b)).on('end', () => {
    const body = Buffer.concat(parts);
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ method: req.method, path: req.url, version: req.httpVersion, headers: req.headers, bytes: body.length,
      sum: body.reduce((a, b) => (a * 31 + b) % 1000003, 0), connection: req.socket.remotePort }));
  });
}

const pages = {
  '/echo': echo,
  '/drip': (req, res, q) => drip(res, Number(q.get('n')), Number(q.get('ms'))),
  '/flood': (req, res, q) => flood(res, Number(q.get('bytes')), 65536),
  '/hang': (req, res) => res.on('close', () => aborted++),
  '/stall': (req, res) => { res.write('some'); res.on('close', () => aborted++); },
  '/cut': (req, res) => {
    res.writeHead(200, { 'content-length': 1000 });
    res.write('part', () => setTimeout(() => res.socket?.destroy() ?? res.stream.close(), 20));
  },
  '/drop': (req) => req.socket.destroy(),
  '/moved': (req, res) => { res.writeHead(302, { location: '/echo' }); res.end(); },
  '/zipped': (req, res) => { res.writeHead(200, { 'content-encoding': 'gzip' }); res.end(gzipSync('whole')); },
  '/deflated': (req, res) => { res.writeHead(200, { 'content-encoding': 'deflate' }); res.end(deflateSync('whole')); },
  '/deflated-raw': (req, res) => { res.writeHead(200, { 'content-encoding': 'deflate' }); res.end(deflateRawSync('whole')); },
  '/zipped-wrongly': (req, res) => { res.writeHead(200, { 'content-encoding': 'gzip' }); res.end('not really'); },
  '/coded': (req, res) => { res.writeHead(200, { 'content-encoding': 'rot13' }); res.end('jubyr'); },
  '/bomb': (req, res) => { res.writeHead(200, { 'content-encoding': 'gzip' }); res.end(gzipSync(Buffer.alloc(64 << 20))); },
  '/twice': (req, res) => { res.writeHead(429, [['X-Odd', 'a'], ['x-odd', 'b"\\'], ['Retry-After', '7']].flat()); res.end(); },
  '/large': (req, res) => { for (let i = 0; i < 20; i++) res.setHeader(`h${i}`, 'x'.repeat(5000)); res.end(); },
  '/early': (req, res) => { res.writeProcessing?.(); res.end('late'); },
  '/counts': (req, res) => res.end(JSON.stringify({ aborted, floods })),
};

function serve(req, res) {
  const url = new URL(req.url, 'http://x');
  res.on('error', () => {});
  (pages[url.pathname] ?? ((_, r) => { r.statusCode = 404; r.end(); }))(req, res, url.searchParams);
}

// What it was asked for is said in a header of each answer; CONNECT leads to the https server.
const proxy = http.createServer((req, res) => { res.setHeader('x-proxy', req.url); res.end('by proxy'); });
proxy.on('connect', (req, socket) => {
  const up = net.connect(ports[1], '127.0.0.1', () => { socket.write('HTTP/1.1 200 OK\r\n\r\n'); up.pipe(socket).pipe(up); });
  up.on('error', () => socket.destroy());
  socket.on('error', () => up.destroy());
});
const quiet = { maxHeaderSize: 1 << 20 };
const servers = [http.createServer(quiet, serve), https.createServer({ ...pair('good'), ...quiet }, serve),
  http2.createSecureServer(pair('good'), serve), https.createServer(pair('bad'), serve), proxy];
const ports = [];
for (const s of servers) {
  s.keepAliveTimeout = 60000;
  await new Promise((go) => s.listen(0, '127.0.0.1', go));
  ports.push(s.address().port);
}
console.log(ports.join(' '));
process.stdin.resume().on('end', () => process.exit(0));
