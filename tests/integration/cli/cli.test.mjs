// SPDX-License-Identifier: Apache-2.0
// build: release
// The command line: help, options and their variables, --check, and the commands that talk to a daemon.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import test, { after, before } from 'node:test';
import { Daemon, endInOrder, ROOT } from '../../lib/daemon.mjs';
import { namesBelow } from '../../lib/vanishing.mjs';
import { acpd } from '../run.mjs';

const COMMANDS = ['serve', 'acp', 'run', 'claim', 'restart', 'sessions', 'tokens mint', 'tokens list', 'tokens revoke', 'usage', 'usage verify', 'archive put', 'archive have', 'archive get', 'archive list', 'archive rm', 'bundle export', 'bundle import', 'bundle replay', 'stats', 'confine try', 'harness list', 'harness install', 'harness verify', 'entrypoint', 'openapi', 'ui', 'doctor'];
let d;

before(async () => {
  d = await Daemon.start();
});
after(() => endInOrder(d));

// Options as `acpd COMMAND --help` lists them: {name, value, env}.
async function optionsOf(command) {
  const { stdout } = await acpd([...command.split(' '), '--help']);

  return [...stdout.matchAll(/^ +--([a-z0-9-]+)( \S+)? .*?(?:\[(ACPD_\w+)\])?$/gm)]
    .map(([, name, value, env]) => ({ name, value: value?.trim(), env }));
}

const printed = (stdout) => Object.fromEntries(stdout.trimEnd().split('\n').map((l) => {
  const i = l.indexOf(' =');

  return [l.slice(0, i), l.slice(i + 3).trim()];
}));

test('--help names the commands and exit codes; --version is one line', async () => {
  for (const args of [['--help'], ['-h'], ['help']]) {
    const { code, stdout, stderr } = await acpd(args);

    assert.deepEqual([code, stderr], [0, '']);
    for (const name of COMMANDS)
      assert.match(stdout, new RegExp(`^  ${name} +\\S`, 'm'));
    assert.match(stdout, /0 done, 1 failed, 2 usage, 3 refused, 4 budget, 5 cancelled, 6 not reachable or not claimed; from 10 on: what doctor found/);
  }
  const { code, stdout } = await acpd(['--version']);
  assert.deepEqual([code, /^acpd \d+\.\d+\.\d+[-+.0-9A-Za-z]*\n$/.test(stdout)], [0, true], stdout);
});

test('every command has --help, on standard output, whatever the environment says', async () => {
  for (const name of COMMANDS) {
    const { code, stdout, stderr } = await acpd([...name.split(' '), '--help'], { clean: true });

    assert.deepEqual([code, stderr], [0, ''], name);
    assert.ok(stdout.startsWith(`acpd ${name} - `), name);
    assert.ok((await optionsOf(name)).some((o) => o.name === 'help'));
  }
});

test('no or an unknown command, option or argument: exit 2, one line on standard error that names it', async () => {
  const cases = [['nope'], ['--nope'], ['-x'], ['serve', '--nope'], ['serve', '-x'], ['serve', 'extra'], ['serve', '--listen'],
    ['serve', '--check', '--tokens', 'x'], ['run', '-p', 'x', '--backlog-max', '1'], ['claim', 'token'], ['sessions', '--nope'], ['doctor', 'extra'],
    ['acp', '--harness']];

  for (const args of cases) {
    const { code, stdout, stderr } = await acpd(args, { timeout: 5000 });

    assert.deepEqual([code, stdout], [2, ''], args.join(' '));
    assert.match(stderr, /^acpd: [^\n]+\n$/, args.join(' '));
    const blamed = args.findLast((a) => a.startsWith('-')) ?? args.at(-1);
    assert.ok(stderr.includes(blamed), `${args.join(' ')}: ${stderr}`);
  }
  const none = await acpd([]);
  assert.equal(none.code, 2);
  assert.match(none.stdout + none.stderr, /usage: acpd/);
});

test('an option is given by its whole name, so that --token SECRET is never taken for --token-file', async () => {
  for (const args of [['--token', 'x'.repeat(20)], ['--tok', 'x'], ['--journal-m', '8192'], ['--allow-query', '1']]) {
    const { code, stderr } = await acpd(['serve', '--check', ...args], { timeout: 5000 });

    assert.equal(code, 2, args.join(' '));
    assert.ok(stderr.includes(args[0]) && !stderr.includes('x'.repeat(20)), stderr);
  }
});

test('a misspelt option gets the nearest one of the command', async () => {
  for (const [args, hint] of [[['serve', '--tokenfile', 'x'], /--tokenfile: no such option; did you mean --token-file\?\n$/], [['serve', '--archive-mx=1'], /did you mean --archive-max\?/],
    [['run', '--promt', 'x'], /did you mean --prompt\?/], [['serve', '--prompt', 'x'], /no such option\n$/], [['serve', '--='], /no such option\n$/]]) {
    const { code, stderr } = await acpd(args, { timeout: 5000 });

    assert.equal(code, 2, args.join(' '));
    assert.match(stderr, hint);
  }
});

test('there is no option that takes a token', async () => {
  for (const name of COMMANDS) {
    for (const o of await optionsOf(name))
      assert.ok(o.name !== 'token' && o.name !== 'key', `${name} --${o.name}`);
  }
});

// A good value for each option of serve that is not its default.
const GOOD = {
  listen: '127.0.0.1:2271', state: '/tmp/x-state', workspaces: '/tmp/x-ws', 'sandbox-id-file': '/tmp/x-id', 'run-dir': '/tmp/x-run', 'token-file': '/tmp/x-token', 'claim-e2b': 'true', 'metadata-url': 'http://127.0.0.1:8080',
  'harness-config': '/tmp/x-h.json', 'default-harness': 'stub', 'agent-user': 'nobody', 'agent-uids': '1000000-1000063', 'allow-host': 'a.example,b.example', 'pass-env': 'JAVA_HOME,GIT_*',
  'allow-origin': 'https://a.example', 'ui-dir': '/tmp/x-ui', 'allow-query-token': 'true', log: 'debug', journal: 'off', 'journal-max': '8192',
  'backlog-max': '8192', 'ping-interval': '7', 'ping-timeout': '8', 'permission-timeout': '9', 'max-connections': '10', drain: '13', 'idle-exit': '14', 'max-life': '15',
  'archive-store-max': '100000', 'keep-sessions': '8d,4097', 'archive-max': '90000', 'archives-baked': '/tmp/x-baked', skills: '/tmp/x-skills', 'mcp-config': '/tmp/x-mcp.json', 'tools-root': '/tmp', 'mcp-hold': '11', 'model-hold': '12', 'record-model': 'true', 'record-max': '8193', 'ca-file': '/tmp/x-ca.pem', 'upstream-allow': '10.0.0.1:80,[fd00::1]', 'fetch-user': 'daemon', 'unlocked-keys': 'true', 'destroy-sockets': 'true', 'network-max': 'off', webhook: '/tmp/x-webhooks.json', profile: 'x=/tmp/x-profile.json', 'webhook-keep': '2d,70000', level: 'strict', 'level-min': 'guarded', 'harness-idle': '77', 'harness-max': '7', 'harness-wait': '17', 'harness-start': '18', 'session-max': '70', 'draft-max': '4097', 'limit-memory': '33554432', 'limit-pids': '99', 'keep-usage': ',4097', 'usage-file-max': '4097',
};

test('--print-config shows every option; flag over environment over default', async () => {
  const options = (await optionsOf('serve')).filter((o) => o.env);
  const names = options.map((o) => o.name);
  const defaults = printed((await acpd(['serve', '--print-config'], { clean: true })).stdout);

  assert.deepEqual(Object.keys(defaults).sort(), [...names].sort());
  for (const { name, value, env } of options) {
    const good = GOOD[name];

    assert.ok(good !== undefined, `this test knows no value for --${name}`);
    assert.equal(env, `ACPD_${name.toUpperCase().replaceAll('-', '_')}`);
    const flag = value ? [`--${name}`, good] : [`--${name}`];
    const byFlag = printed((await acpd(['serve', '--print-config', ...flag], { clean: true })).stdout);
    const byEnv = printed((await acpd(['serve', '--print-config'], { clean: true, env: { [env]: good } })).stdout);
    assert.equal(byFlag[name], good, `--${name}`);
    assert.equal(byEnv[name], good, env);
    assert.notEqual(defaults[name], good);
    const other = value && !/\d+$/.test(good) && !['log', 'journal', 'level', 'level-min', 'network-max'].includes(name) ? `${good}-other` : defaults[name];
    if (value && other) {
      const both = printed((await acpd(['serve', '--print-config', ...flag], { clean: true, env: { [env]: other } })).stdout);
      assert.equal(both[name], good, `--${name} wins over ${env}`);
    }
  }
});

test('--option=value, and a switch by 1, 0, true or false', async () => {
  const config = async (args, env) => printed((await acpd(['serve', '--print-config', ...args], { clean: true, env })).stdout);

  assert.equal((await config(['--log=warn'])).log, 'warn');
  for (const [value, shown] of [['1', 'true'], ['true', 'true'], ['0', 'false'], ['false', 'false']])
    assert.equal((await config([], { ACPD_ALLOW_QUERY_TOKEN: value }))['allow-query-token'], shown);
  const empty = await config([], { ACPD_LOG: '', ACPD_LISTEN: '' });
  assert.deepEqual([empty.log, empty.listen], ['info', '127.0.0.1:2270'], 'an empty variable is none');
});

test('defaults follow the user: directories of root, of XDG, of the home', async () => {
  const config = async (env) => printed((await acpd(['serve', '--print-config'], { clean: true, env })).stdout);

  if (process.getuid() === 0) {
    const got = await config({ XDG_RUNTIME_DIR: '/x', XDG_STATE_HOME: '/y', HOME: '/z' });
    assert.deepEqual([got.state, got['run-dir']], ['/var/lib/acpd', '/run/acpd']);
  } else {
    const xdg = await config({ XDG_RUNTIME_DIR: '/x', XDG_STATE_HOME: '/y', HOME: '/z' });
    assert.deepEqual([xdg.state, xdg['run-dir']], ['/y/acpd', '/x/acpd']);
    const home = await config({ HOME: '/z' });
    assert.deepEqual([home.state, home['run-dir']], ['/z/.local/state/acpd', '/z/.local/state/acpd/run']);
  }
});

const check = (args, opts) => acpd(['serve', '--check', '--state', path.join(d.dir, 'check-state'), ...args], opts);

test('--check is silent and leaves nothing behind when all is well', async () => {
  const { code, stdout, stderr } = await check(['--harness-config', d.harnessFile, '--token-file', d.tokenFile, '--default-harness', 'stub']);

  assert.deepEqual([code, stdout, stderr], [0, '', '']);
  assert.ok(!fs.existsSync(path.join(d.dir, 'check-state')), 'no directory is made');
});

test('--check and a start refuse a bad value and name the option', async () => {
  const bad = [['listen', 'nonsense'], ['listen', '127.0.0.1'], ['listen', '127.0.0.1:'], ['listen', '127.0.0.1:65536'], ['listen', ':x'],
    ['listen', '127.0.0.1:-1'], ['log', 'loud'], ['log', ''], ['log', 'info debug'], ['journal', 'maybe'], ['journal-max', '5'],
    ['backlog-max', 'x'], ['backlog-max', '-1'], ['backlog-max', '99999999999999999999'], ['ping-interval', '0'], ['ping-interval', '3601'],
    ['ping-timeout', '1.5'], ['ping-timeout', ''], ['permission-timeout', '604801'], ['max-connections', '0'], ['max-connections', '1e3'],
    ['default-harness', 'no-such'], ['agent-user', 'no-such-user-here'], ['agent-uids', '9-8'], ['agent-uids', 'x'],
    ['ca-file', '/no/such.pem'], ['ca-file', '/etc/hostname'], ['upstream-allow', 'http://a/'], ['upstream-allow', 'a,,b'], ['fetch-user', 'root'],
    ['fetch-user', 'no-such-user-here'],
    ...['', '127.0.0.1', 'https://127.0.0.1', 'http://', 'http://localhost', 'http://169.255.0.1', 'http://10.0.0.1', 'http://127.0.0.1/x', 'http://127.0.0.1:0',
      'http://[fe80::1]', 'http://a@127.0.0.1', 'http://2130706433'].map((v) => ['metadata-url', v])];

  for (const [name, value] of bad) {
    for (const args of [['serve', '--check', `--${name}=${value}`], ['serve', `--${name}=${value}`]]) {
      const { code, stdout, stderr } = await acpd([...args, '--state', path.join(d.dir, 'check-state')], { timeout: 5000 });

      assert.deepEqual([code, stdout], [2, ''], args.join(' '));
      assert.match(stderr, new RegExp(`^acpd: --${name}: .+\\n$`), args.join(' '));
    }
  }
  assert.ok(!fs.existsSync(path.join(d.dir, 'check-state')));
});

test('a bad value in the environment names its option too', async () => {
  const { code, stderr } = await check([], { env: { ACPD_PING_INTERVAL: 'often' } });

  assert.equal(code, 2);
  assert.match(stderr, /^acpd: .*ping-interval.*often/);
  const { code: good } = await check([], { env: { ACPD_PROMPT: 'not an option of serve' } });
  assert.equal(good, 0);
});

test('--check refuses a variable ACPD_* that nothing reads, with the nearest that is known; a start warns', async (t) => {
  const known = { ACPD_OWNER: 'x', ACPD_SESSION: 'x', ACPD_MCP_KEY: 'x', ACPD_PROVIDER_HEADER_3: 'x', ACPD_TEST_ANYTHING: '1', ACPD: 'x', ACPDX: 'x' };

  for (const [name, nearest] of [['ACPD_LISTN', 'ACPD_LISTEN'], ['ACPD_TOKENFILE', 'ACPD_TOKEN_FILE'], ['ACPD_AGENT_UID', 'ACPD_AGENT_UIDS'], ['ACPD_CHECK', 'ACPD_\\w+'],
    [`ACPD_${'X'.repeat(3000)}`, 'ACPD_\\w+']]) {
    const { code, stderr } = await check([], { env: { ...known, [name]: 'not to be shown' } });

    assert.equal(code, 2, stderr);
    assert.match(stderr, new RegExp(`^acpd: ${name.slice(0, 50)}\\w*: nothing reads this variable; the nearest that is known is ${nearest}\n$`));
  }
  assert.deepEqual((await check([], { env: known })).code, 0);
  const own = await Daemon.startFor(t, { env: { ACPD_LISTN: '127.0.0.1:1' } });
  const warned = own.stderr.split('\n').filter((l) => l.includes('nothing reads')).map((l) => JSON.parse(l));
  assert.deepEqual(warned.map((l) => [l.level, l.name, l.nearest]), [['warn', 'ACPD_LISTN', 'ACPD_LISTEN']]);
  await own.stop();
});

test('every variable ACPD_* that stands in the sources is known to --check', async () => {
  const names = ['daemon', 'harnesses', 'tools'].flatMap((dir) => namesBelow(path.join(ROOT, dir))
    .filter((f) => /[.](c|h|mjs)$/.test(f))
    .flatMap((f) => [...fs.readFileSync(path.join(ROOT, dir, f), 'utf8').matchAll(/"(ACPD_[A-Z_]*[A-Z])"|"(ACPD_[A-Z_]+_)%u|env[.](ACPD_[A-Z_]+)/g)].map((m) => m[1] ?? m[2] ?? m[3])));
  const options = new Set((await optionsOf('serve')).map((o) => o.env));
  const inner = [...new Set(names)].filter((n) => !options.has(n)).map((n) => n.replace(/_$/, '_0'));

  assert.ok(inner.length > 10, inner.join(' '));
  assert.deepEqual(await check([], { clean: true, env: Object.fromEntries(inner.map((n) => [n, 'x'])) }), { code: 0, signal: null, stdout: '', stderr: '' });
});

test('--check refuses directories that cannot be made: below a file, by a link to nothing, where nobody may write', async () => {
  const file = path.join(d.dir, 'no-directory'), link = path.join(d.dir, 'to-nothing'), closed = path.join(d.dir, 'closed');

  fs.writeFileSync(file, '');
  fs.symlinkSync(path.join(d.dir, 'nothing'), link);
  fs.mkdirSync(closed, { mode: 0o755 });
  for (const [option, dir, why, uid] of [['state', path.join(file, 'a', 'b'), 'Not a directory'], ['state', link, 'No such file or directory'], ['workspaces', path.join(link, 'x'), 'No such file or directory'],
    ...process.getuid() ? [] : [['state', '/of-nobody', 'Permission denied', 65534], ['state', path.join(closed, 'x'), 'Permission denied', 65534], ['workspaces', closed, 'Permission denied', 65534]]]) {
    const dirs = { state: '/tmp', 'run-dir': '/tmp', [option]: dir };
    const { code, stderr } = await acpd(['serve', '--check', ...Object.entries(dirs).flatMap(([k, v]) => [`--${k}`, v])], { clean: true, uid });

    assert.deepEqual([code, stderr.startsWith(`acpd: --${option}: ${dir}: `), stderr.endsWith(`: ${why}\n`)], [2, true, true], stderr);
  }
});

test('--check reads the harness configuration and names the entry and the member', async () => {
  const file = path.join(d.dir, 'bad-harnesses.json');
  const entry = { id: 'x', command: '/bin/true' };
  const bad = [['{', /./], ['[]', /./], ['{}', /harnesses/], ['{"harnesses":5}', /harnesses/], ['{"harnesses":[5]}', /harnesses\[0\]/],
    [{ harnesses: [{ command: '/x' }] }, /harnesses\[0\]\.id/], [{ harnesses: [{ id: 'x' }] }, /harnesses\[0\]\.command/],
    [{ harnesses: [entry, { ...entry, id: 5 }] }, /harnesses\[1\]\.id/], [{ harnesses: [{ ...entry, args: 'x' }] }, /harnesses\[0\]\.args/],
    [{ harnesses: [{ ...entry, args: ['a', 5] }] }, /harnesses\[0\]\.args\[1\]/], [{ harnesses: [{ ...entry, env: { A: 5 } }] }, /harnesses\[0\]\.env\.A/],
    [{ harnesses: [{ ...entry, env: ['A=b'] }] }, /harnesses\[0\]\.env/], [{ harnesses: [entry, entry] }, /harnesses\[1\].*twice/],
    [{ harnesses: [], harness: [] }, /line 1: harness: a manifest has no such member; known are harnesses/],
    ['{"harnesses": [\n  {"id": "x", "command": "/bin/true",\n   "arg": []}\n]}', /line 3: harnesses\[0\]\.arg: an entry has no such member; known are id, command/],
    [{ harnesses: [{ ...entry, quirks: 'none' }] }, /harnesses\[0\]\.quirks is the name of no row; known are copilot, claude, gemini/],
    ...[['loadSession', 1], ['loadsession', true], ['promptCapabilities', []], ['auth', true]].map(([name, value]) =>
      [{ harnesses: [{ ...entry, capabilities: { [name]: value } }] }, /line 1: /]),
    [{ harnesses: [{ ...entry, capabilities: { mcpCapabilities: { htpp: true } } }] }, /no such capability; known are stdio, http/],
    [{ harnesses: [{ ...entry, capabilities: { sessionCapabilities: { resume: true } } }] }, /harnesses\[0\]\.capabilities\.sessionCapabilities\.resume/],
    [{ harnesses: [{ ...entry, authMethods: [{ id: 'a' }, 'b'] }] }, /harnesses\[0\]\.authMethods\[1\]/]];

  for (const [content, pattern] of bad) {
    fs.writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content));
    const { code, stderr } = await check(['--harness-config', file]);

    assert.equal(code, 2, JSON.stringify(content));
    assert.match(stderr, /^acpd: [^\n]+\n$/);
    assert.ok(stderr.includes(file), stderr);
    assert.match(stderr, pattern);
  }
  const { code, stderr } = await check(['--harness-config', path.join(d.dir, 'none.json')]);
  assert.equal(code, 2);
  assert.match(stderr, /none\.json/);
});

test('--check looks at the token file', async () => {
  const file = path.join(d.dir, 'short-token');

  fs.writeFileSync(file, 'short', { mode: 0o600 });
  const { code, stderr } = await check(['--token-file', file]);
  assert.equal(code, 2);
  assert.match(stderr, /token/);
});

test('a start that cannot succeed ends with 1 and says why', async () => {
  const busy = await acpd(['serve', '--listen', `127.0.0.1:${d.port}`, '--state', path.join(d.dir, 's3'), '--run-dir', path.join(d.dir, 'r3')]);
  const locked = await acpd(['serve', '--listen', '127.0.0.1:0', '--state', d.stateDir, '--run-dir', path.join(d.dir, 'r4')]);
  const file = path.join(d.dir, 'a-file');

  fs.writeFileSync(file, '');
  const noDir = await acpd(['serve', '--listen', '127.0.0.1:0', '--state', path.join(file, 'x'), '--run-dir', path.join(d.dir, 'r5')]);
  for (const [result, pattern] of [[busy, String(d.port)], [locked, 'state'], [noDir, 'a-file']]) {
    assert.deepEqual([result.code, result.stdout], [1, ''], result.stderr);
    const last = result.stderr.trimEnd().split('\n').at(-1);
    assert.ok(last.startsWith('acpd: ') && last.includes(pattern), result.stderr);
  }
});

test('the manual names every option of every command', async () => {
  const manual = fs.readFileSync(path.join(ROOT, 'daemon/acpd.1'), 'utf8');

  for (const command of COMMANDS) {
    assert.match(manual, new RegExp(`\\.It Cm ${command}\\b`));
    for (const { name } of await optionsOf(command)) {
      if (name !== 'help' && name !== 'prompt')
        assert.match(manual, new RegExp(`Fl Fl ${name}\\b`), `--${name} of ${command}`);
    }
  }
});

const SHORT = { p: 'prompt', o: 'output' };

// serve and doctor, with some 80 options, have "option ..." there.
test('the synopsis of the manual has exactly the options of each command', async () => {
  const manual = fs.readFileSync(path.join(ROOT, 'daemon/acpd.1'), 'utf8');
  const synopsis = manual.slice(manual.indexOf('.Sh SYNOPSIS'), manual.indexOf('.Sh DESCRIPTION'));
  const blocks = new Map(synopsis.split(/^\.Nm\n/m).flatMap((block) => {
    const [, command] = /^\.Cm (.+)$/m.exec(block) ?? [];

    return command ? [[command, block]] : [];
  }));

  for (const command of [...COMMANDS, 'archive extract', 'skills validate', 'mcp'].filter((name) => !['serve', 'doctor'].includes(name))) {
    const named = [...blocks.get(command).matchAll(/Fl (?:Fl ([a-z0-9-]+)|([a-z])\b)/g)].map(([, long, short]) => long ?? SHORT[short]);

    assert.deepEqual(named.toSorted(), (await optionsOf(command)).map(({ name }) => name).filter((name) => name !== 'help').toSorted(), command);
  }
});

test('acpd sessions lists what there is, as text and as JSON', async () => {
  const c = await d.client();
  const made = [];
  const sessions = (...args) => acpd(['sessions', '--run-dir', d.runDir, ...args]);

  for (const title of ['First', 'Second']) {
    const { sessionId } = await c.newSession();

    await c.prompt(sessionId, `title ${title}\necho x`);
    made.push(sessionId);
  }
  const text = await sessions();
  assert.deepEqual([text.code, text.stderr], [0, '']);
  const lines = text.stdout.trimEnd().split('\n');
  assert.equal(lines.length, 2);
  for (const [i, id] of made.entries()) {
    assert.ok(lines[i].startsWith(id));
    assert.match(lines[i], new RegExp(`open +stub +\\d+ +${d.workDir} +${i ? 'Second' : 'First'}$`));
  }
  const turn = c.startPrompt(made[0], 'sleep 60000');
  await c.call('session/close', { sessionId: made[1] });
  const { sessions: json } = JSON.parse((await sessions('--json')).stdout);
  assert.deepEqual(json.map((s) => [s.sessionId, s.state, s.title, s.turns]), [[made[0], 'busy', 'First', 2], [made[1], 'closed', 'Second', 1]]);
  assert.ok(json[0].pid > 1 && json[1].pid === undefined);
  c.cancel(made[0]);
  await turn.answer;
  await Promise.all(made.map((sessionId) => c.call('session/delete', { sessionId })));
  assert.equal((await sessions()).stdout, '');
  assert.equal((await acpd(['sessions'], { env: { ACPD_RUN_DIR: d.runDir } })).code, 0);
  await c.close();
});

test('acpd doctor reports the daemon, the harnesses and what is missing', async () => {
  const doctor = (...args) => acpd(['doctor', '--run-dir', d.runDir, ...args]);
  const { stdout } = await doctor(); // its exit code is the machine's too: doctor.test.mjs

  for (const what of ['daemon', 'claimed', 'cgroup', 'limit memoryBytes', 'limit pids', 'limit cpuWeight', 'agent user', 'direct calls', 'harness stub', 'harness opencode'])
    assert.match(stdout, new RegExp(`^(ok|--|FAIL) +${what}\\b`, 'm'));
  const report = JSON.parse((await doctor('--json')).stdout);
  assert.equal(report.daemon.claimed, true);
  assert.equal(report.daemon.harnesses.find((h) => h.id === 'stub').installed, true);
  assert.deepEqual(report.findings.filter((f) => f.subject === 'stub').map((f) => [f.id, f.kind, f.level]), [['harness', 'harness', 'ok']]);
  const own = await Daemon.start({ token: null, harnesses: [{ id: 'absent', command: '/no/such/program', args: [] }] });
  try {
    const unclaimed = await acpd(['doctor', '--run-dir', own.runDir]);
    assert.ok(unclaimed.code >= 10, `${unclaimed.code}`);
    assert.match(unclaimed.stdout, /^FAIL +claimed/m);
    assert.match(unclaimed.stdout, /^-- +harness absent +\/no\/such\/program \(not installed\)$/m);
    await own.stop();
  } finally {
    await own.discard();
  }
});

test('without a daemon: sessions, claim and run end with 6', async () => {
  const none = path.join(d.dir, 'no-run');

  for (const [command, ...args] of [['sessions'], ['sessions', '--json'], ['claim'], ['run', '-p', 'x']]) {
    const { code } = await acpd([command, '--run-dir', none, ...args], { input: 'x'.repeat(20), clean: true });

    assert.equal(code, 6, `${command} ${args.join(' ')}`);
  }
});
