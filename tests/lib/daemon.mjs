// SPDX-License-Identifier: Apache-2.0
// Starts and stops the real daemon in a fresh folder, and watches that it leaves nothing behind.
//
//   const d = await Daemon.start();             // token, run dir, stub harness as id "stub"
//   const c = await d.client();                 // connected and initialized AcpClient
//   await d.stop();                             // SIGTERM, exit 0, no process left, no token in logs
//
// A file may share one daemon (before/after) or start many. Folders of daemons that stopped well are
// removed; ACPD_TEST_KEEP=1 keeps them all.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import crypto from 'node:crypto';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { AcpClient, RawWs, assertNoViolations, deadline, patience, sleep } from './rawws.mjs';
import * as procs from './procs.mjs';
import { checkHttp, httpProblems, linesOf } from './described.mjs';
import { watched } from './described-lines.mjs';
import { LogFile } from './log-file.mjs';
import { roomy } from './roomy.mjs';

export const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const ACPD = path.resolve(ROOT, process.env.ACPD ?? 'build/release/acpd');
// Built with sanitizers: its memory is no measure.
export const SANITIZED = /[/]san[/]/.test(ACPD);
export const STUB = path.resolve(ROOT, process.env.ACPD_STUB ?? 'build/release/stub-agent');

const running = new Set();

// Whatever happens to a test file, no daemon and no harness of it stays.
for (const end of ['exit', 'test file ended'])
  process.on(end, () => {
    for (const d of running)
      d.killAll();
  });
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'])
  process.once(signal, () => process.exit(1));

// fetch of a test that asks one of our daemons is held against the description, too: of files all but the body, of what comes in lines each line.
const plainFetch = globalThis.fetch;

globalThis.fetch = async (input, init = {}) => {
  const res = await plainFetch(input, init);
  const url = new URL(typeof input === 'string' || input instanceof URL ? input : input.url);

  if (![...running].some((d) => `${d.port}` === url.port && url.hostname === '127.0.0.1'))
    return res;
  const whole = /^application\/json/.test(res.headers.get('content-type') ?? '');
  const answer = { status: res.status, headers: Object.fromEntries(res.headers), body: whole ? await res.clone().text() : '' };

  const asked = { method: init.method ?? 'GET', where: url.pathname + url.search };
  const lines = res.body && linesOf(asked, { status: res.status, type: answer.headers['content-type'] });

  checkHttp(asked, answer);
  return lines ? watched(res, lines) : res;
};

function toArgs(flags) {
  return Object.entries(flags).flatMap(([name, value]) => {
    const flag = `--${name.replace(/[A-Z]/g, (c) => `-${c.toLowerCase()}`)}`;

    if (value === false || value === null || value === undefined)
      return [];
    return value === true ? [flag] : [flag, String(value)];
  });
}

export class Daemon {
  stdout = '';
  #before = ''; // what the runs before the last restart() logged
  #log;
  owners = new Set(); // values of ACPD_OWNER that this daemon used
  leftovers = []; // what was alive when it was killed (kill9)

  // opts:
  //   flags      {pingInterval: 1, 'backlog-max': 65536, token-file: null …}, over the defaults
  //   args       further arguments, as they are
  //   program    another executable than ACPD
  //   env        further environment (null removes); clean: true starts from nothing but PATH
  //   harnesses  further entries of the harness config; `command` defaults to the stub
  //   stub       changes of the default "stub" entry, e.g. {args: ['--auth']} (added), {env}
  //   token      the token; null: start unclaimed
  //   dir        use this folder (and keep it); uid, gid: run as this user; cwd: its working directory
  //   roomy      its folder is in memory, where there is room: for tests that write thousands of files
  //   wait       false: do not wait until it listens
  static async start(opts = {}) {
    const d = new Daemon();

    d.opts = opts;
    d.run = `t${crypto.randomBytes(6).toString('hex')}`;
    d.dir = opts.dir ?? fs.mkdtempSync(path.join(process.env.ACPD_TEST_TMP ?? (opts.roomy ? roomy() : os.tmpdir()), 'acpd-test-'));
    d.ownDir = opts.dir === undefined;
    d.token = opts.token === undefined ? `token-${crypto.randomBytes(12).toString('hex')}` : opts.token;
    d.#prepare();
    try {
      await d.#launch();
    } catch (e) {
      await d.discard();
      throw e;
    }
    return d;
  }

  // The daemon of one test (t), which goes with it whatever becomes of it.
  static async startFor(t, opts) {
    const d = await Daemon.start(opts);

    t.after(() => d.discard());
    return d;
  }

  get stateDir() { return this.opts.flags?.state ?? path.join(this.dir, 'state'); }
  get runDir() { return path.join(this.dir, 'run'); }
  get wsDir() { return path.join(this.dir, 'ws'); }
  get workDir() { return path.join(this.dir, 'work'); } // a cwd for sessions
  get tokenFile() { return path.join(this.dir, 'token'); }
  get harnessFile() { return path.join(this.dir, 'harnesses.json'); }
  get controlSocket() { return path.join(this.runDir, 'control.sock'); }
  get acpSocket() { return path.join(this.runDir, 'acp.sock'); }
  get url() { return `ws://127.0.0.1:${this.port}/acp`; }
  get pid() { return this.child.pid; }

  #prepare() {
    fs.chmodSync(this.dir, 0o755); // a harness may run as another user
    for (const dir of [this.workDir, path.join(this.dir, 'stub-store')]) {
      fs.mkdirSync(dir, { recursive: true });
      fs.chmodSync(dir, 0o777);
    }
    this.writeToken(this.token);
    this.writeHarnesses();
  }

  writeToken(token) {
    if (token !== null)
      fs.writeFileSync(this.tokenFile, `${token}\n`, { mode: 0o600 });
  }

  // The harness config: the stub with a memory that outlives the daemon, and what the test adds.
  writeHarnesses() {
    const { stub = {}, harnesses = [] } = this.opts;
    const mark = { ACPD_TEST_RUN: this.run };
    const store = ['--store', path.join(this.dir, 'stub-store')];
    const entries = [{ id: 'stub', ...stub }, ...harnesses].map((h) => ({
      command: STUB, ...h,
      args: h.command && h.command !== STUB ? h.args ?? [] : [...store, ...(h.args ?? [])],
      env: { ...mark, ...h.env },
    }));

    fs.writeFileSync(this.harnessFile, JSON.stringify({ harnesses: entries }, null, 2));
  }

  get argv() {
    const flags = {
      listen: '127.0.0.1:0', state: this.stateDir, runDir: this.runDir, workspaces: this.wsDir,
      tokenFile: this.token === null ? null : this.tokenFile, harnessConfig: this.harnessFile,
      ...this.opts.flags,
    };

    return ['serve', ...toArgs(flags), ...(this.opts.args ?? [])];
  }

  async #launch() {
    const base = this.opts.clean ? { PATH: process.env.PATH } : process.env;
    const env = { ...base, ACPD_TEST_DAEMON: this.run, ...this.opts.env };
    // e.g. "valgrind --error-exitcode=99": the daemon runs under it
    const wrap = (process.env.ACPD_WRAP ?? '').split(' ').filter(Boolean);
    const [command, ...args] = [...wrap, this.opts.program ?? ACPD, ...this.argv];

    for (const [k, v] of Object.entries(env)) {
      if (v === null)
        delete env[k];
    }
    Object.assign(this, { stdout: '', port: undefined, exit: undefined });
    this.#before = this.stderr;
    this.from = this.#before.length;
    this.#log = new LogFile();
    this.child = spawn(command, args, { env, cwd: this.opts.cwd, uid: this.opts.uid, gid: this.opts.gid, stdio: ['ignore', 'pipe', this.#log.fd] });
    running.add(this);
    this.child.stdout.on('data', (data) => { this.stdout += data; });
    this.exited = new Promise((resolve, reject) => {
      this.child.on('error', (e) => {
        this.#log.close();
        reject(e);
      });
      this.child.on('close', (code, signal) => {
        this.#log.close();
        this.exit = { code, signal };
        running.delete(this);
        resolve(this.exit);
      });
    });
    this.exited.catch(() => running.delete(this));
    if (this.opts.wait !== false)
      await this.ready();
  }

  // Waits for the line that says it listens.
  async ready(timeout = 15000) {
    const listening = /^acpd listening on ws:\/\/(?:\S+):(\d+)\/acp$/m;
    const end = Date.now() + patience(timeout);

    while (!listening.test(this.stdout)) {
      if (this.exit)
        throw new Error(`acpd ended early: ${JSON.stringify(this.exit)}\n${this.stderr.slice(-4000)}`);
      if (Date.now() > end)
        throw new Error(`acpd does not listen; stdout ${JSON.stringify(this.stdout)}\n${this.stderr.slice(-4000)}`);
      await Promise.race([sleep(5), this.exited]);
    }
    this.port = Number(this.stdout.match(listening)[1]);
  }

  // --- clients -------------------------------------------------------------------------

  // A raw connection (RawWs.open) with our token unless told otherwise.
  ws(opts = {}) {
    return RawWs.open({ port: this.port, token: this.token, ...opts });
  }

  connect(opts = {}) {
    return AcpClient.connect(this, opts);
  }

  // Connected and initialized. init: options of AcpClient.initialize.
  async client({ init, ...opts } = {}) {
    const c = await this.connect(opts);

    await c.initialize(init);
    return c;
  }

  // Plain HTTP: {status, headers, body, json}. described: false: of another server than ours.
  http(where, { method = 'GET', headers = {}, token, body, described = true } = {}) {
    const all = { ...(token && { Authorization: `Bearer ${token}` }), ...headers };
    const done = new Promise((resolve, reject) => {
      const target = { host: '127.0.0.1', port: this.port, path: where, method, headers: all, agent: false };
      const req = http.request(target, (res) => {
        let text = '';

        res.on('data', (data) => { text += data; });
        res.on('end', () => {
          let json;
          try {
            json = JSON.parse(text);
          } catch { /* not every body is JSON */ }
          const answer = { status: res.statusCode, headers: res.headers, body: text, json };
          const wrong = described ? httpProblems({ method, where, body }, answer) : [];

          if (wrong.length)
            reject(new assert.AssertionError({ message: wrong.join('\n') }));
          resolve(answer);
        });
      });

      req.on('error', reject);
      req.end(body);
    });

    return deadline(done, 10000, `${method} ${where}`);
  }

  // A number of /metrics, e.g. acpd_children; of one with labels the sum of all, or of label, e.g. 'code="UNAUTHORIZED"'.
  async metric(name, label = '.*') {
    const { body } = await this.http('/metrics', { token: this.token });
    const found = [...body.matchAll(new RegExp(`^${name}(?:\\{${label}\\})? (\\d+)$`, 'gm'))];

    assert.ok(found.length > 0, `no ${name} in /metrics:\n${body}`);
    return found.reduce((sum, [, n]) => sum + Number(n), 0);
  }

  // --- logs ----------------------------------------------------------------------------

  // All that it has written, of every run.
  get stderr() {
    return this.#before + (this.#log?.text ?? '');
  }

  // Parsed log lines of this run (since the last start); a line that is no JSON has {raw}.
  get logs() {
    return this.stderr.slice(this.from).split('\n').filter(Boolean).map((line) => {
      try {
        return JSON.parse(line);
      } catch {
        return { raw: line };
      }
    });
  }

  async waitLog(pred, timeout = 10000) {
    const end = Date.now() + patience(timeout);

    for (;;) {
      const found = this.logs.find(pred);

      if (found)
        return found;
      if (Date.now() > end || this.exit)
        throw new Error(`no such log line; last: ${this.stderr.slice(-2000)}`);
      await sleep(20);
    }
  }

  // --- processes -----------------------------------------------------------------------

  // Without pages of files: soon after its start the daemon gives back its code, and what is needed again comes back.
  rss() { return procs.anonymous(this.pid); }
  pss() { return procs.pss(this.pid); }
  // Without usage.ahead, which a thread makes in its own time, and the locks of its cgroups, which come a moment after the start: a count
  // that goes up by them tells nothing.
  descriptors() { return procs.descriptors(this.pid).filter((to) => !/\/usage\.ahead|\/acpd-\d+-\d+-\d+$/.test(to)); }
  fdCount() { return this.descriptors().length; }
  socketCount() { return procs.socketCount(this.pid); }
  // Of its own kind: a helper, a child that is forked and still is to become one, or one that tries, a moment after the start, what
  // the machine can confine. The last two have the daemon's own arguments, or none once they end. The name is read last: it has
  // changed by the time that the arguments have.
  #isOwn({ pid }) {
    const args = procs.cmdline(pid), { comm = '' } = procs.stat(pid) ?? {};

    return comm.startsWith('acpd-unpack') || args === procs.cmdline(this.pid) || (args === '' && comm === procs.stat(this.pid)?.comm);
  }
  helpers() { return this.descendants().filter((p) => this.#isOwn(p) && procs.alive(p)); }
  // What it hosts, and what that has started.
  harnesses() { return this.descendants().filter((p) => !this.#isOwn(p) && procs.stat(p.pid)); }
  cpu() { return procs.cpu(this.pid); }
  descendants() { return procs.descendants(this.pid); }

  // AcpClient.initialize tells us; ours() learns the rest from the children themselves.
  sawOwner(owner) {
    if (owner)
      this.owners.add(String(owner));
  }

  // All processes that belong to this daemon: its descendants, and whoever carries our marks.
  ours() {
    const below = this.exit ? [] : this.descendants();

    for (const p of below)
      this.sawOwner(procs.environ(p.pid).ACPD_OWNER);
    const marked = procs.withEnv((env) => env.ACPD_TEST_RUN === this.run ||
      (env.ACPD_OWNER && this.owners.has(env.ACPD_OWNER)));
    const known = new Map([...below, ...marked].map((p) => [p.pid, p]));

    known.delete(this.pid);
    return [...known.values()].filter((p) => procs.alive(p));
  }

  // Waits until none of the given processes (default: all of ours) is alive.
  async gone(list = this.ours(), timeout = 10000) {
    const end = Date.now() + patience(timeout);
    let left;

    for (;;) {
      left = list.filter((p) => procs.alive(p));
      if (!left.length)
        return;
      if (Date.now() > end)
        break;
      await sleep(20);
    }
    assert.fail(`still alive: ${left.map((p) => `${p.pid ?? p} ${p.comm ?? ''}`).join(', ')}`);
  }

  // --- the end -------------------------------------------------------------------------

  // Ends it in order and checks what must hold at every end. keep: the folder stays, for restart().
  async stop({ signal = 'SIGTERM', timeout = 20000, code = 0, orphans = true, logs = true, keep = false } = {}) {
    if (this.exit)
      return this.exit;
    const known = this.ours();
    const exit = await this.#end(signal, timeout);

    if (code !== undefined)
      assert.deepEqual(exit, { code, signal: null }, `exit of the daemon\n${this.stderr.slice(-4000)}`);
    assert.match(this.stdout, /^(acpd listening on [^\n]+\n)?$/, 'stdout carries the one line');
    if (logs)
      this.checkLogs();
    if (orphans)
      await this.gone([...known, ...this.ours()], 1000);
    if (!keep)
      this.#clean();
    return exit;
  }

  async #end(signal, timeout) {
    this.child.kill(signal);
    try {
      return await deadline(this.exited, timeout, `acpd to end after ${signal}`);
    } catch (e) {
      this.killAll();
      throw new Error(`${e.message}\n${this.stderr.slice(-4000)}`);
    }
  }

  // Every log line is a JSON object with the fixed members, and no line holds the token.
  checkLogs() {
    for (const line of process.env.ACPD_WRAP ? [] : this.logs) {
      assert.equal(line.raw, undefined, 'a log line is not JSON');
      for (const name of ['t', 'level', 'mod', 'msg'])
        assert.equal(typeof line[name], 'string', `log line without ${name}: ${JSON.stringify(line)}`);
      assert.notEqual(line.msg, 'a change of state that there is not', JSON.stringify(line));
    }
    if (this.token)
      assert.ok(!`${this.stdout}${this.stderr}`.includes(this.token), 'the token is in the logs');
  }

  // As if the machine had lost the process. What it hosted at that moment is in `leftovers`.
  async kill9() {
    this.leftovers = this.ours();
    await this.#end('SIGKILL', 5000);
  }

  // Starts it again on the same folders; opts replace those of start(), e.g. {flags}.
  async restart(opts = {}) {
    if (!this.exit)
      await this.stop({ keep: true });
    this.opts = { ...this.opts, ...opts };
    this.writeHarnesses();
    await this.#launch();
  }

  killAll() {
    for (const p of [...(this.exit ? [] : [{ pid: this.pid }]), ...this.ours(), ...this.leftovers]) {
      try {
        if (procs.alive(p))
          process.kill(p.pid, 'SIGKILL');
      } catch { /* it was quicker */ }
    }
  }

  #clean() {
    if (this.ownDir && !process.env.ACPD_TEST_KEEP)
      fs.rmSync(this.dir, { recursive: true, force: true });
  }

  // For after(): ends whatever state it is in, without checks.
  async discard() {
    this.killAll();
    await this.exited.catch(() => {});
    this.#clean();
  }
}

// How a file of tests ends: its client (if it has one) and its daemon in good order, no message against the schema. check: what
// must hold before the daemon ends. Nothing is left even when they are not.
export async function endInOrder(d, c, check) {
  try {
    c?.assertClean();
    await c?.close();
    await check?.();
    await d?.stop();
    assertNoViolations();
  } finally {
    await d?.discard();
  }
}

// Runs body with a daemon of its own, which then ends in good order.
export async function withDaemon(opts, body) {
  const d = await Daemon.start(opts);

  try {
    await body(d);
    await d.stop();
    assertNoViolations();
  } finally {
    await d.discard();
  }
}
