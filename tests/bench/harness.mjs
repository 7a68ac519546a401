// SPDX-License-Identifier: Apache-2.0
// The same trivial turn of a real harness twice: through acpd, and by a driver that speaks the harness's own protocol
// over its pipes. Both stand ready at the same time and take turns, on one scripted model; nothing here interprets
// what the harness says beyond the end of the turn.

import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { WebSocket } from 'ws';
import { startModelServer } from '../harness/model-server.mjs';
import { Daemon, ROOT } from '../lib/daemon.mjs';
import * as procs from '../lib/procs.mjs';
import { launch, scratch, stop } from './rig.mjs';

const KEY = 'sk-bench-0001';
const MODEL = 'scripted-1';
const TEXT = 'TEXT:hello';
const PATIENCE = 30_000;
const WARM = 5; // turns that do not count: titles are made, caches filled, scripts compiled
// BENCH_NODE_MODULES: a further folder with the packages of harnesses
const folders = [process.env.BENCH_NODE_MODULES, path.join(ROOT, 'tests', 'node_modules')].filter(Boolean);
const quiet = ['AUTOUPDATE', 'MODELS_FETCH', 'DEFAULT_PLUGINS', 'LSP_DOWNLOAD', 'SHARE', 'CLAUDE_CODE'];

// --- a connection that carries one JSON message at a time ------------------------------------

// What all drivers do: send, and wait for a message of a kind. `ended` fits the answer of a request.
class Driver {
  #waiting = new Set();
  #ids = 0;

  receive(text) {
    const message = JSON.parse(text);

    for (const w of this.#waiting) {
      if (!w.fits(message))
        continue;
      this.#waiting.delete(w);
      w.resolve(message);
    }
  }

  broken(why) {
    for (const w of this.#waiting)
      w.reject(new Error(why));
    this.#waiting.clear();
  }

  until(fits) {
    const message = new Promise((resolve, reject) => {
      const timer = setTimeout(() => reject(new Error(`nothing came for ${PATIENCE} ms`)), PATIENCE);
      const settle = (fn) => (v) => { clearTimeout(timer); fn(v); };

      this.#waiting.add({ fits, resolve: settle(resolve), reject: settle(reject) });
    });

    message.catch(() => {}); // nobody may have come to wait for it
    return message;
  }

  async request(method, params) {
    const id = ++this.#ids;
    const answer = this.until((m) => m.id === id && !m.method);

    this.send({ jsonrpc: '2.0', id, method, params });
    const { error, result } = await answer;
    if (error)
      throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async prompt(sessionId) {
    const { stopReason } = await this.request('session/prompt', { sessionId, prompt: [{ type: 'text', text: TEXT }] });

    if (stopReason !== 'end_turn')
      throw new Error(`the turn ended with ${stopReason}`);
  }
}

class Piped extends Driver {
  constructor(program, env) {
    super();
    this.dir = fs.mkdtempSync(path.join(scratch, 'direct-'));
    this.cwd = path.join(this.dir, 'work');
    fs.mkdirSync(this.cwd);
    this.child = launch(program.command, program.args, {
      cwd: this.cwd, stdio: ['pipe', 'pipe', 'ignore'], env: { PATH: process.env.PATH, HOME: this.dir, ...env(this.dir) },
    });
    this.child.stdin.on('error', () => {}); // its end is told by `ended`
    readline.createInterface({ input: this.child.stdout }).on('line', (line) => line && this.receive(line));
    this.child.ended.then(({ code, signal }) => this.broken(`the harness ended: ${signal ?? code}`), (e) => this.broken(e.message));
  }

  send(message) {
    this.child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  get pids() {
    return [this.child.pid, ...procs.descendants(this.child.pid).map((p) => p.pid)];
  }

  async stop() {
    const below = procs.descendants(this.child.pid);

    await stop(this.child, 'SIGKILL');
    for (const p of below.filter((one) => procs.alive(one)))
      process.kill(p.pid, 'SIGKILL');
  }
}

// --- each harness by itself ---------------------------------------------------------------------

class OpenCode extends Piped {
  constructor(program, model) {
    const gw = { npm: '@ai-sdk/openai-compatible', name: 'gw', options: { baseURL: `${model.url}/v1`, apiKey: KEY },
      models: { [MODEL]: { tool_call: true, limit: { context: 200_000, output: 32_000 } } } };
    const config = { autoupdate: false, share: 'disabled', enabled_providers: ['gw'], model: `gw/${MODEL}`,
      small_model: `gw/${MODEL}`, provider: { gw } };

    super(program, () => ({ OPENCODE_CONFIG_CONTENT: JSON.stringify(config), OPENCODE_PURE: '1',
      ...Object.fromEntries(quiet.map((name) => [`OPENCODE_DISABLE_${name}`, '1'])) }));
    // or it installs a package from the network into this folder
    const at = path.join(this.dir, '.config', 'opencode');

    fs.mkdirSync(path.join(at, 'node_modules'), { recursive: true });
    fs.writeFileSync(path.join(at, 'package.json'), '{}');
    fs.writeFileSync(path.join(at, 'package-lock.json'),
      '{"lockfileVersion":3,"packages":{"":{"dependencies":{"@opencode-ai/plugin":"*"}}}}');
  }

  async open() {
    await this.request('initialize', { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'bench', version: '0' } });
    this.session = (await this.request('session/new', { cwd: this.cwd, mcpServers: [] })).sessionId;
  }

  turn() {
    return this.prompt(this.session);
  }
}

class Codex extends Piped {
  constructor(program, model) {
    super(program, (dir) => {
      fs.mkdirSync(path.join(dir, '.codex'));
      fs.writeFileSync(path.join(dir, '.codex', 'config.toml'), `model = "${MODEL}"
model_provider = "gw"
check_for_update_on_startup = false
[model_providers.gw]
name = "gw"
base_url = "${model.url}/v1"
env_key = "GW_KEY"
wire_api = "responses"
[analytics]
enabled = false
[features]
plugins = false
remote_plugin = false
apps = false
`);
      return { CODEX_HOME: path.join(dir, '.codex'), GW_KEY: KEY };
    });
  }

  async open() {
    await this.request('initialize', { clientInfo: { name: 'bench', title: 'bench', version: '0' },
      capabilities: { experimentalApi: true } });
    this.send({ method: 'initialized' });
    const { thread } = await this.request('thread/start', { cwd: this.cwd, approvalPolicy: 'never', sandbox: 'danger-full-access' });
    this.thread = thread.id;
  }

  async turn() {
    const end = this.until((m) => m.method === 'turn/completed');

    await this.request('turn/start', { threadId: this.thread, input: [{ type: 'text', text: TEXT, text_elements: [] }] });
    const { turn } = (await end).params;
    if (turn.status !== 'completed')
      throw new Error(`the turn is ${turn.status}: ${turn.error?.message}`);
  }
}

class Pi extends Piped {
  #n = 0;

  constructor(program, model) {
    super(program, (dir) => {
      const agent = path.join(dir, '.pi', 'agent');
      const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
      const models = [{ id: MODEL, input: ['text'], contextWindow: 200_000, maxTokens: 32_000, cost }];

      fs.mkdirSync(agent, { recursive: true });
      fs.writeFileSync(path.join(agent, 'models.json'), JSON.stringify({ providers: {
        gw: { baseUrl: `${model.url}/v1`, apiKey: '$GW_KEY', api: 'openai-completions', models } } }));
      fs.writeFileSync(path.join(agent, 'settings.json'), JSON.stringify({ defaultProvider: 'gw', defaultModel: MODEL,
        enableInstallTelemetry: false, cacheWarming: 'off' }));
      return { PI_CODING_AGENT_DIR: agent, PI_OFFLINE: '1', PI_TELEMETRY: '0', PI_SKIP_VERSION_CHECK: '1', GW_KEY: KEY };
    });
  }

  async #command(command) {
    const id = `r${++this.#n}`;
    const answer = this.until((m) => m.type === 'response' && m.id === id);

    this.send({ id, ...command });
    const { success, error } = await answer;
    if (!success)
      throw new Error(`${command.type}: ${error}`);
  }

  open() {
    return this.#command({ type: 'get_state' });
  }

  async turn() {
    const said = this.until((m) => m.type === 'turn_end');
    const end = this.until((m) => m.type === 'agent_settled');

    await this.#command({ type: 'prompt', message: TEXT });
    const { message } = await said;
    await end;
    if (message.stopReason !== 'stop')
      throw new Error(`the turn ended with ${message.stopReason}: ${message.errorMessage}`);
  }
}

// api: what the session's provider input says of the scripted model; file: what must be there, below a node_modules
const programs = [
  { id: 'opencode', file: 'opencode-linux-x64/bin/opencode', args: ['acp'], api: 'openai-chat', Direct: OpenCode },
  { id: 'codex', file: '@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex', args: ['app-server'],
    api: 'openai-responses', Direct: Codex },
  { id: 'pi', file: '@earendil-works/pi-coding-agent/dist/bundle/cli.js', node: true, args: ['--mode', 'rpc'],
    api: 'openai-chat', Direct: Pi },
];

function find({ file, node, args, ...rest }) {
  const at = folders.map((dir) => path.join(dir, file)).find((f) => fs.existsSync(f));

  return at && { ...rest, command: node ? process.execPath : at, args: node ? [at, ...args] : args };
}

// --- the same through the daemon -----------------------------------------------------------------

class Through extends Driver {
  constructor(program, model) {
    super();
    Object.assign(this, { program, model });
  }

  async open() {
    const { id, command, args, api } = this.program;

    this.daemon = await Daemon.start({ flags: { defaultHarness: id, log: 'error' }, harnesses: [{ id, command, args }] });
    this.socket = new WebSocket(this.daemon.url, { headers: { Authorization: `Bearer ${this.daemon.token}` } });
    this.socket.on('message', (data) => this.receive(data));
    this.socket.on('close', () => this.broken('the daemon closed the connection'));
    await new Promise((resolve, reject) => { this.socket.once('open', resolve).once('error', reject); });
    await this.request('initialize', { protocolVersion: 1, clientCapabilities: {}, clientInfo: { name: 'bench', version: '0' } });
    this.empty = procs.rss(this.daemon.pid);
    this.session = (await this.request('session/new', { cwd: this.daemon.workDir, mcpServers: [],
      _meta: { acpd: { provider: { api, via: 'environment', baseUrl: `${this.model.url}/v1`, key: KEY, model: MODEL } } } })).sessionId;
  }

  send(message) {
    this.socket.send(JSON.stringify(message));
  }

  turn() {
    return this.prompt(this.session);
  }

  get pids() {
    return procs.descendants(this.daemon.pid).map((p) => p.pid);
  }

  async stop() {
    this.socket?.terminate();
    await this.daemon?.stop();
  }
}

// --- figures ---------------------------------------------------------------------------------------

// CPU of all threads that live, in µs: the clock ticks of stat are too coarse for a turn.
const cpuMicros = (pid) => procs.threads(pid, 'schedstat').reduce((sum, one) => sum + Number(one.split(' ')[0]) / 1000, 0);

const cpuOf = (pids) => pids.reduce((sum, pid) => sum + cpuMicros(pid), 0);
const rssOf = (pids) => pids.reduce((sum, pid) => sum + (procs.rss(pid) ?? 0), 0);
const share = (part, whole) => `${(100 * part / whole).toFixed(2)} %`;
const median = (list) => list.toSorted((a, b) => a - b)[Math.floor(list.length / 2)];

async function measured(side, turns) {
  const before = cpuOf(side.pids);
  const daemon = side.daemon && cpuMicros(side.daemon.pid);
  const start = performance.now();

  await side.turn();
  turns.push({ ms: performance.now() - start, cpu: cpuOf(side.pids) - before,
    daemon: side.daemon && cpuMicros(side.daemon.pid) - daemon });
}

function report(table, us, them, ours, theirs) {
  const of = (list, key) => median(list.map((t) => t[key]));

  table.add({ what: 'time, median', unit: 'ms', value: of(ours, 'ms'), refs: [{ name: 'directly', value: of(theirs, 'ms') }] });
  table.add({ what: 'CPU of the harness, median', unit: 'ms', value: of(ours, 'cpu') / 1000,
    refs: [{ name: 'directly', value: of(theirs, 'cpu') / 1000 }] });
  table.add({ what: 'CPU of the daemon, median', unit: 'ms', value: of(ours, 'daemon') / 1000,
    note: `${share(of(ours, 'daemon'), of(ours, 'cpu'))} of the harness's` });
  table.add({ what: 'RSS of the harness, afterwards', unit: 'mib', value: rssOf(us.pids),
    refs: [{ name: 'directly', value: rssOf(them.pids) }] });
  const grown = procs.rss(us.daemon.pid) - us.empty;

  table.add({ what: 'RSS the daemon has grown by', unit: 'kib', value: grown, note: `${share(grown, rssOf(us.pids))} of the harness's` });
}

async function one(table, program, model, n) {
  const us = new Through(program, model);
  const them = new program.Direct(program, model);
  const [ours, theirs] = [[], []];

  try {
    await them.open();
    await us.open();
    for (let i = -WARM; i < n; i++) {
      await measured(us, i < 0 ? [] : ours);
      await measured(them, i < 0 ? [] : theirs);
    }
    report(table, us, them, ours, theirs);
  } finally {
    await them.stop();
    await us.stop();
  }
}

export async function harnessTurns(table, n) {
  const model = await startModelServer({ key: KEY });

  for (const entry of programs) {
    const program = find(entry);

    table.section(`a turn of ${entry.id} on the scripted model, through the daemon and driven directly, ${n} each`);
    if (!program)
      console.log('left out: it is not installed');
    else
      await one(table, program, model, n).catch((e) => console.log(`left out: ${e.message}`));
  }
  await model.close();
}
