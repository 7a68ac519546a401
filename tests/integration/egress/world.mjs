// What the tests of acpd-proxy share: names, certificates, and servers behind them.
import { execFile } from 'node:child_process';
import { WebSocketServer } from 'ws';
import { connect, http, https, listen, makeCertificates, Proxy, raw, scratch, startDns } from '../../lib/egress.mjs';

export const NAMES = {
  'good.test': ['127.0.0.1'],
  'sub.good.test': ['127.0.0.1'],
  'front.test': ['127.0.0.1'],
  'private.test': ['10.0.0.1', '192.168.1.1', '127.0.0.1'],
  'six.test': ['::1', 'fd00::1', '::ffff:127.0.0.1'],
  'cloud.test': ['169.254.169.254', 'fd00:ec2::254'],
  // the first look-up is of a public address where nothing answers, the next ones are not
  'rebind.test': (n) => (n === 1 ? ['192.0.2.1'] : ['127.0.0.1']),
  'twice.test': ['127.0.0.2', '127.0.0.1'],
  'usual.test': ['127.77.3.4'],
  'nothing.test': [],
  'silent.test': null,
};

let stream;
// The end of /sse comes when it is asked for.
export const sendSecond = () => stream.end('data: 2\n\n');

function pages(req, res) {
  const parts = [];
  req.on('data', (b) => parts.push(b)).on('end', () => {
    if (req.url === '/sse') {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write('data: 1\n\n');
      stream = res;
      return;
    }
    res.setHeader('x-hop', '1').setHeader('connection', 'close, x-hop');
    res.end(JSON.stringify({ url: req.url, method: req.method, headers: req.headers, body: Buffer.concat(parts).toString() }));
  });
}

export async function startWorld() {
  const dns = await startDns(NAMES);
  const certificates = makeCertificates(scratch(), ['good.test', 'sub.good.test', 'front.test', 'twice.test', '127.0.0.1']);
  const plain = http.createServer(pages), tls = https.createServer(certificates.pair, pages);
  for (const server of [plain, tls]) {
    const sockets = new WebSocketServer({ server, path: '/ws' });
    sockets.on('connection', (ws) => ws.on('message', (m) => ws.send(`echo ${m}`)));
  }
  const ports = { plain: await listen(plain), tls: await listen(tls) };
  const allow = ['good.test', 'sub.good.test', 'front.test', 'twice.test', 'usual.test', `127.0.0.1:${ports.tls}`];
  const proxy = Proxy.start({ allow, resolvers: dns.address });
  const stop = async () => {
    await proxy.stop();
    for (const s of [plain, tls]) { s.close(); s.closeAllConnections(); }
    dns.stop();
  };
  return { dns, certificates, ports, proxy, stop };
}

// What curl says: its head and body, or its error.
export const curl = (world, door, ...args) => curlAs({}, world, door, ...args);

export const curlAs = (who, world, door, ...args) => new Promise((go) => {
  execFile('curl', ['-sS', '-i', '--max-time', '20', '--cacert', world.certificates.ca, '-x', `http://127.0.0.1:${door.port}`, ...args],
    { ...who, env: { PATH: process.env.PATH } }, (e, out, errors) => go({ code: e?.code ?? 0, out, errors, reason: /acpd-reason: (\S+)/.exec(out)?.[1] }));
});

export { connect, raw };
