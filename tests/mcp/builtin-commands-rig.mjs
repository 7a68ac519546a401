// SPDX-License-Identifier: Apache-2.0
// A client of `acpd mcp --builtin` over its own stdin and stdout: lists the tools once, and holds every structured result
// against the output schema that was listed for its tool.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Ajv2020 from 'ajv/dist/2020.js';
import { ACPD } from '../lib/daemon.mjs';
import { checkText } from './builtin.mjs';

export class Box {
  #child;
  #waiting = new Map();
  #progress = new Map();
  #check = new Map();
  #next = 1;
  #rest = '';

  /** config: members of the toolbox's configuration besides roots. env: on top of the test's. */
  static async start(t, config = {}, env = {}) {
    const box = new Box();
    box.home = realpathSync(mkdtempSync(join(tmpdir(), 'acpd-commands-')));
    box.root = join(box.home, 'work');
    box.state = join(box.home, 'state');
    mkdirSync(box.root);
    mkdirSync(box.state);
    t.after(() => box.stop());
    box.#child = spawn(ACPD, ['mcp', '--builtin', '--config-fd', '3'], {
      stdio: ['pipe', 'pipe', 'inherit', 'pipe'],
      cwd: box.root,
      env: { ...process.env, NODE_TEST_CONTEXT: undefined, ...env }, // or node --test below us would run nothing
    });
    box.exited = new Promise((done) => box.#child.on('exit', (code, signal) => done({ code, signal })));
    box.#child.stdio[3].end(JSON.stringify({ roots: [box.root], stateDir: box.state, ...config }));
    box.#child.stdout.setEncoding('utf8').on('data', (text) => box.#read(text));
    await box.request('initialize', {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'test', version: '1' },
    });
    box.#send({ method: 'notifications/initialized' });
    const ajv = new Ajv2020({ strict: false });
    box.tools = (await box.request('tools/list', {})).tools;
    for (const tool of box.tools) box.#check.set(tool.name, ajv.compile(tool.outputSchema));
    return box;
  }

  get pid() {
    return this.#child.pid;
  }

  #send(message) {
    this.#child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
  }

  #read(text) {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop();
    for (const line of lines) this.#message(JSON.parse(line));
  }

  #message(m) {
    if (m.method === 'notifications/progress') {
      this.#progress.get(m.params.progressToken)?.({ ...m.params, at: performance.now() });
      return;
    }
    const done = this.#waiting.get(m.id);
    this.#waiting.delete(m.id);
    if (m.error) done?.reject(Object.assign(new Error(m.error.message), m.error));
    else done?.resolve(m.result);
  }

  request(method, params, id = this.#next++) {
    const answer = new Promise((resolve, reject) => this.#waiting.set(id, { resolve, reject }));
    this.#send({ id, method, params });
    return answer;
  }

  /** The structured result; an error result as {error}. onProgress is told each notification. */
  async call(name, args, onProgress) {
    const id = this.#next++;
    const params = { name, arguments: args };
    if (onProgress) {
      params._meta = { progressToken: id };
      this.#progress.set(id, onProgress);
    }
    const result = await this.request('tools/call', params, id);
    const check = this.#check.get(name);
    assert.ok(check(result.structuredContent), `${name}: ${JSON.stringify(check.errors)}`);
    checkText(name, result);
    assert.equal(result.isError === true, 'error' in result.structuredContent);
    return result.structuredContent;
  }

  /** A call that is cancelled after ms; nothing is answered to it. */
  async cancelled(name, args, ms) {
    const id = this.#next++;
    this.#send({ id, method: 'tools/call', params: { name, arguments: args } });
    await new Promise((done) => setTimeout(done, ms));
    this.#send({ method: 'notifications/cancelled', params: { requestId: id } });
  }

  kill(signal) {
    this.#child.kill(signal);
    return this.exited;
  }

  async stop() {
    this.#child.stdin.end();
    const { code, signal } = await this.exited;

    assert.ok(code === 0 || signal === 'SIGKILL', `the tools ended with ${code ?? signal}`);
    rmSync(this.home, { recursive: true, force: true });
  }
}
