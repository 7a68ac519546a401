// SPDX-License-Identifier: Apache-2.0
// build: release
// The examples of the docs, as they stand there. TypeScript is type-checked; what needs no cloud is run against a daemon, with the
// placeholders of one table replaced; JSON is read by the program it is for. An example that no row speaks of fails.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import test, { after, before, describe } from 'node:test';
import { Daemon, endInOrder, ROOT } from '../../lib/daemon.mjs';
import { fencesOf, markdownFiles } from '../../lib/fences.mjs';
import { STUB_WITH_PROVIDER } from '../../lib/model-calls.mjs';
import { deadline } from '../../lib/rawws.mjs';
import { acpd } from '../run.mjs';

// What stands in an example -> what it is here.
const PLACEHOLDERS = (d) => [
  ['127.0.0.1:2270', `127.0.0.1:${d.port}`], ['?harness=codex', `?harness=${STUB_WITH_PROVIDER.id}`],
  ['https://gateway.example/v1', 'http://127.0.0.1:9/v1'], ['"gpt-5.5"', '"stub-large"'], ['"Fix the failing test"', '"echo fixed"'],
  ['/v1/agui/codex?profile=web', '/v1/agui/stub'], ['"Has order A-17 been shipped?"', '"echo shipped"'],
];

// file: [what the first line holds, what is done with the example, what must come of it]
const ROWS = {
  'README.md': [
    ['make run ', 'left'], // the demo, which tests/harness runs
    ['acpd harness install', 'byHand'],
    ['@agentclientprotocol/sdk', 'run', (r) => assert.match(r.stdout, /fixed[^]*agent_message_chunk[^]*end_turn/)],
    ['ModelTunnel', 'run', (r) => assert.match(r.stdout, /^sess_[0-9a-f]{32}\n$/)],
  ],
  'daemon/protocol/agui.md': [['@ag-ui/client', 'run', (r) => assert.match(r.stdout, /fixed[^]*sess_[0-9a-f]{32}/)]],
  'daemon/protocol/mcp-http.md': [
    ['curl -s', 'shell', (r) => assert.match(JSON.parse(r.stdout).result.content[0].text, /Linux/)],
  ],
  'daemon/protocol/tools.md': [['sdk/unstable', 'run', (r) => assert.match(r.stdout, /sessionId/)], ['"context7"', 'mcp']],
  'daemon/protocol/workspaces.md': [
    ['createHash', 'run', (r) => assert.match(r.stdout, /fixed[^]*agent_message_chunk[^]*end_turn/)],
  ],
  'daemon/protocol/bundles.md': [['{"format"', 'json']],
  'daemon/protocol/webhooks.md': [['"url"', 'webhooks'], ['"type"', 'json'], ['createHmac', 'check']], // webhooks.test.mjs runs it
  'daemon/protocol/usage.md': [['{', 'json'], ['{', 'json']],
  'harnesses/README.md': [['acpd harness list', 'left'], ['"harnesses"', 'manifest'], ['"initialize"', 'left']], // harness-command.test.mjs and docs-confine.test.mjs run them
  'images/README.md': [
    ['useradd', 'left'], // makes a user: images/'s own tests do
    ['sed -n', 'left'], // doctor.test.mjs runs it
    ['openssl rand', 'left'], // tests/e2b/container.test.mjs runs it
    ['randomBytes', 'check'], ['e2b template', 'left'], ['"harnesses"', 'manifest'],
    ['agentclientprotocol/sdk', 'run', (r) => assert.match(r.stdout, /^\d+ prompt$[^]*^\d+ complete$/m)],
  ],
  'tools/README.md': [['"deny"', 'policy']],
};
const LANGS = ['ts', 'sh', 'json'];
const examples = markdownFiles().flatMap(fencesOf).filter((f) => LANGS.includes(f.lang));
const rowOf = (e) => (ROWS[e.file] ?? []).find(([begins]) => e.text.split('\n')[0].includes(begins));
const named = (e) => `${e.file}:${e.line}`;
const modules = fs.readdirSync(path.join(ROOT, 'images')).filter((name) => name.endsWith('.ts'));
let d, dir;

const run = (file, args, { env = {}, cwd = dir, timeout = 60000 } = {}) => deadline(new Promise((resolve) => {
  execFile(file, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 1 << 24 }, (e, stdout, stderr) => {
    resolve({ code: e ? e.code ?? e.signal : 0, stdout, stderr });
  });
}), timeout, `${file} ${args.join(' ')}`);

function write(e, suffix, edit = (t) => t) {
  const file = path.join(dir, `${e.file.replaceAll('/', '-')}-${e.line}${suffix}`);

  fs.writeFileSync(file, edit(e.text));
  return file;
}

const replaced = (text) => PLACEHOLDERS(d).reduce((t, [from, to]) => t.replaceAll(from, to), text);

before(async () => {
  // beside node_modules, where both compiler and Node find packages
  dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-docs-'));
  fs.symlinkSync(fs.realpathSync(path.join(ROOT, 'tests/node_modules')), path.join(dir, 'node_modules'));
  for (const name of modules)
    fs.copyFileSync(path.join(ROOT, 'images', name), path.join(dir, name));
  fs.writeFileSync(path.join(dir, 'package.json'), '{"type":"module"}');
  d = await Daemon.start({ harnesses: [STUB_WITH_PROVIDER] });
});
after(async () => {
  await endInOrder(d);
  fs.rmSync(dir, { recursive: true, force: true });
});

test('every example has its row, and every row its example', () => {
  assert.deepEqual(examples.filter((e) => !rowOf(e)).map(named), []);
  for (const [file, rows] of Object.entries(ROWS))
    assert.equal(examples.filter((e) => e.file === file).length, rows.length, file);
});

test('TypeScript type-checks as it stands, that of images/ too', async () => {
  const files = modules.map((name) => path.join(dir, name)).concat(examples.filter((e) => e.lang === 'ts').map((e) => write(e, '.ts')));
  const { code, stdout } = await run(process.execPath, [path.join(dir, 'node_modules/typescript/bin/tsc'), '--noEmit', '--strict', '--target', 'es2023', '--module', 'nodenext', '--moduleResolution', 'nodenext',
    '--skipLibCheck', '--types', 'node', '--allowImportingTsExtensions', '--erasableSyntaxOnly', ...files], { timeout: 180000 });

  assert.ok(files.length >= 8);
  assert.deepEqual([code, stdout], [0, '']);
});

const JUDGES = {
  left: async (e) => assert.ok((await run('bash', ['-n', write(e, '.sh')])).code === 0),
  check: async (e) => assert.equal(e.lang, 'ts'),
  json: async (e) => assert.equal(typeof JSON.parse(e.text), 'object'),
  async manifest(e) {
    const r = await acpd(['serve', '--check', '--state', path.join(dir, 's'), '--run-dir', path.join(dir, 'r'), '--harness-config', write(e, '.json')]);

    assert.deepEqual([r.code, r.stderr], [0, '']);
  },
  async mcp(e) {
    const r = await acpd(['serve', '--check', '--state', path.join(dir, 's'), '--run-dir', path.join(dir, 'r'), '--mcp-config', write(e, '.json')]);

    assert.deepEqual([r.code, r.stderr], [0, '']);
  },
  async webhooks(e) {
    const file = write(e, '.json');

    fs.chmodSync(file, 0o600);
    const r = await acpd(['serve', '--check', '--state', path.join(dir, 's'), '--run-dir', path.join(dir, 'r'), '--webhook', file]);

    assert.deepEqual([r.code, r.stderr], [0, '']);
  },
  async policy(e) {
    const r = await acpd(['mcp', '--builtin', '--root', dir, '--policy', write(e, '.json')], { input: '' });

    assert.deepEqual([r.code, r.stderr], [0, '']);
  },
  // ends by itself, with nothing on standard error
  async run(e, check) {
    fs.writeFileSync(path.join(dir, 'in.txt'), 'x');
    await run('tar', ['-czf', path.join(dir, 'repo.tar.gz'), '-C', dir, 'in.txt']);
    const r = await run(process.execPath, ['--experimental-strip-types', '--no-warnings', write(e, '-run.ts', replaced)],
      { env: { TOKEN: d.token, KEY: 'a-key-of-the-example' } });

    assert.deepEqual([r.code, r.stderr], [0, ''], r.stdout);
    check(r);
  },
  // a daemon of the example's own, on a free port; nothing is fetched
  async byHand(e) {
    const text = e.text.replace(/^(acpd harness install|npm install) /gm, 'echo $1 ');
    const script = path.join(dir, 'by-hand.sh');

    fs.writeFileSync(script, `${text}\nuntil acpd sessions --json; do kill -0 $!; sleep 0.05; done\n[ -n "$TOKEN" ]\nkill $!; wait $!\n`);
    const r = await run('bash', ['-e', script], { env: { PATH: `${path.dirname(process.env.ACPD)}:${process.env.PATH}`, ACPD_LISTEN: '127.0.0.1:0',
      ACPD_STATE: path.join(dir, 'by-hand'), ACPD_RUN_DIR: path.join(dir, 'by-hand-run') } });

    assert.equal(r.code, 0, r.stderr);
    assert.match(r.stdout, /acpd listening on ws:[^]*"sessions"/);
  },
  async shell(e, check) {
    const r = await run('bash', ['-e', write(e, '.sh', replaced)], { env: { TOKEN: d.token } });

    assert.equal(r.code, 0, r.stderr);
    check(r);
  },
};

describe('what the examples do', () => {
  for (const e of examples) {
    const [begins, judge, check] = rowOf(e) ?? ['', 'left'];

    test(`${e.file}, "${begins}": ${judge}`, () => JUDGES[judge](e, check));
  }
});
