// build: both
// The life of acpd-proxy: who may come, what it holds back, how much it keeps, what it may do no more, and its death.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { after, before, describe, it } from 'node:test';
import { available, Proxy, PROGRAM } from '../../lib/egress.mjs';
import * as procs from '../../lib/procs.mjs';
import { steady, until } from '../../lib/wait.mjs';
import { connect, curl, curlAs, startWorld } from './world.mjs';

const san = PROGRAM.includes('/san/');
const dirty = (pid) => procs.privateDirty(pid) / 1024;
const root = process.getuid() === 0;

describe('the life of acpd-proxy', { skip: !available && 'acpd-proxy is not built' }, () => {
  let world, rules;

  before(async () => {
    world = await startWorld();
    rules = { mode: 'allowlist', allow: [{ host: 'good.test', ports: [world.ports.plain, world.ports.tls] }] };
  });
  after(() => world?.stop());

  it('has given up all that it does not need', () => {
    const said = JSON.parse(execFileSync(PROGRAM, ['probe', '65534', '65534'], { encoding: 'utf8' }));
    const can = Object.entries(said).filter(([name, how]) => name !== 'uid' && how === 'done').map(([name]) => name);
    assert.deepEqual(can, ['tcpSocket', 'resolver']);
    assert.equal(said.uid, root ? 65534 : process.getuid());
  });

  it('runs as a user of its own, with no memory to read', { skip: !root && 'needs root' }, async () => {
    const door = await world.proxy.open(rules);
    const pid = await until(() => world.proxy.pid(), 'it runs');
    await until(() => procs.status(pid)?.Seccomp === '2', 'it is confined');
    const status = procs.text(pid, 'status');
    assert.doesNotMatch(status, /Uid:\t0\t/);
    assert.match(status, /CapEff:\t0+\n/);
    assert.match(status, /NoNewPrivs:\t1/);
    assert.equal(procs.owner(pid, 'mem'), 0, 'not dumpable');
    world.proxy.tell({ do: 'close', door: door.door });
  });

  it('lets only the user of the session in', { skip: !root && 'needs root' }, async () => {
    const door = await world.proxy.open(rules, 65533);
    assert.equal(door.did, 'open', door.why);
    assert.equal((await curl(world, door, `http://good.test:${world.ports.plain}/`)).reason, 'CALLER_NOT_ALLOWED');
    assert.match((await curlAs({ uid: 65533, gid: 65533 }, world, door, `http://good.test:${world.ports.plain}/mine`)).out, /"url":"\/mine"/);
    world.proxy.tell({ do: 'close', door: door.door });
  });

  it('keeps little of what a slow reader does not take, and all of it comes', async () => {
    const size = 64 << 20, block = Buffer.alloc(1 << 20, 'x');
    let sent = 0;
    const far = net.createServer((s) => {
      const more = () => { sent += block.length; if (sent < size) s.write(block, more); else s.end(); };
      s.on('error', () => {}).write(block, more);
    });
    const port = await new Promise((go) => far.listen(0, '127.0.0.1', () => go(far.address().port)));
    const door = await world.proxy.open({ mode: 'allowlist', allow: [{ host: 'good.test', ports: [port] }] });
    const { socket } = await connect(door.port, `good.test:${port}`);
    const before = dirty(world.proxy.pid());
    const stuck = await steady(() => sent); // the writer waits
    assert.ok(stuck < size / 2, `${stuck} bytes`);
    if (!san) assert.ok(dirty(world.proxy.pid()) - before < 1024, 'KiB of memory');
    let came = 0;
    socket.on('data', (b) => { came += b.length; }).resume();
    await once(socket, 'end');
    assert.ok(came >= size, `${came}`);
    socket.destroy();
    far.close();
    world.proxy.tell({ do: 'close', door: door.door });
  });

  it('a thousand silent connections hold up nobody', async () => {
    const door = await world.proxy.open(rules);
    await until(() => world.proxy.pid(), 'it runs');
    const silent = [];
    let gone = 0;
    for (let i = 0; i < 1000; i++) {
      silent.push(net.connect(door.port, '127.0.0.1').on('error', () => {}).on('close', () => { gone++; }).resume());
      if (i % 100 === 99) await once(silent[i], 'connect');
    }
    assert.match((await curl(world, door, `http://good.test:${world.ports.plain}/busy`)).out, /"url":"\/busy"/);
    await until(() => gone >= 1000 - 512, 'the oldest made room');
    for (const s of silent) s.destroy();
    world.proxy.tell({ do: 'close', door: door.door });
  });

  it('dies, and its doors are open again, with the answers that were given', async () => {
    const own = await world.proxy.open({ mode: 'allowlist', ask: true });
    const url = `http://good.test:${world.ports.plain}/again`;
    const first = curl(world, own, url);
    await world.proxy.next('ask', (s) => s.door === own.door);
    world.proxy.tell({ do: 'answer', door: own.door, host: 'good.test', allow: true });
    assert.match((await first).out, /again/);
    const { socket } = await connect(own.port, `good.test:${world.ports.plain}`);
    const pid = world.proxy.pid();
    socket.resume().on('error', () => {});
    world.proxy.tell({ do: 'kill' });
    await once(socket, 'close');
    assert.match((await curl(world, own, url)).out, /again/);
    assert.notEqual(world.proxy.pid(), pid);
    assert.equal(world.proxy.of('ask', own.door).length, 1);
    world.proxy.tell({ do: 'close', door: own.door });
  });

  it('a door that is closed takes nobody, and what was open is closed', async () => {
    const own = await world.proxy.open(rules);
    const { socket } = await connect(own.port, `good.test:${world.ports.plain}`);
    socket.resume().on('error', () => {});
    world.proxy.tell({ do: 'close', door: own.door });
    await once(socket, 'close');
    await until(() => new Promise((go) => net.connect(own.port, '127.0.0.1').on('error', (e) => go(e.code === 'ECONNREFUSED')).on('connect', function on() {
      this.destroy();
      go(false);
    })), 'nobody listens');
  });

  it('is said to be missing where it is', async () => {
    const proxy = Proxy.start({ program: '', env: { ACPD_PROXY: '/nonexistent/acpd-proxy' } });
    const door = await proxy.open({ mode: 'on' });
    assert.deepEqual([door.did, door.reason, door.why], ['refused', 'NETWORK_POLICY_UNSUPPORTED', 'acpd-proxy is not installed']);
    await proxy.stop();
  });
});
