// SPDX-License-Identifier: Apache-2.0
// build: release
// What `make static` makes: programs that need no library, in a root that holds nothing but them, an agent and what they are asked to read.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { ROOT } from '../lib/daemon.mjs';
import { noticed } from './notice.mjs';

const STATIC = path.join(ROOT, 'build/static');
const SKIP = process.getuid() !== 0 ? { skip: 'must be root' } : !fs.existsSync(path.join(STATIC, 'acpd')) ? { skip: 'make test-static makes them' } : {};
let dir;

before(() => { dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-static-')); });
after(() => fs.rmSync(dir, { recursive: true, force: true }));

// In an empty root; script: what is done there, each command by `$in_root`. -> its output
function inRoot(script) {
  for (const name of ['dev', 'proc', 'tmp', 'run', 'state', 'etc', 'home'])
    fs.mkdirSync(path.join(dir, name), { recursive: true });
  for (const name of ['acpd', 'acpd-unpack', 'stub-agent'])
    fs.copyFileSync(path.join(STATIC, name), path.join(dir, name));
  fs.chmodSync(dir, 0o755); // the agent's user passes it
  fs.chmodSync(path.join(dir, 'tmp'), 0o1777);
  fs.writeFileSync(path.join(dir, 'etc/passwd'), 'root:x:0:0::/:/\nagent:x:2270:2270::/home:/\n');
  fs.writeFileSync(path.join(dir, 'etc/hosts'), '127.0.0.1 the-name-of-this\n');
  fs.writeFileSync(path.join(dir, 'h.json'), JSON.stringify({ harnesses: [{ id: 'stub', command: '/stub-agent', args: ['--no-store'] }] }));
  const r = spawnSync('unshare', ['--mount', '--pid', '--fork', '--propagation', 'private', 'sh', '-ec', `cd ${dir}
    mount -t tmpfs tmpfs dev; mount -t proc proc proc
    mknod -m 666 dev/null c 1 3; mknod -m 666 dev/urandom c 1 9
    in_root="env -i PATH=/ ACPD_RUN_DIR=/run ACPD_STATE=/state $(command -v chroot) ."
    ${script}`], { encoding: 'utf8', timeout: 60_000 });

  assert.equal(r.status, 0, r.stdout + r.stderr);
  return r.stdout;
}

test('NOTICE names every library that make static links into each', () => {
  const notice = fs.readFileSync(path.join(ROOT, 'images/NOTICE'), 'utf8');
  const lines = spawnSync('make', ['-n', 'static'], { cwd: ROOT, encoding: 'utf8', env: { PATH: process.env.PATH } }).stdout.split('\n');

  for (const program of ['acpd', 'acpd-unpack']) {
    const link = lines.find((line) => line.includes(` -o build/static/${program} `));
    const linked = [...link.matchAll(/ -l(?::lib([a-z0-9]+)\.a|([a-z0-9-]+))(?= |$)/g)].map(([, file, name]) => file ?? name);

    assert.ok(linked.length > 5, link);
    assert.deepEqual(linked.filter((library) => !noticed(notice, library, program)), [], program);
  }
});

test('no program wants a library or an interpreter', SKIP, () => {
  for (const name of ['acpd', 'acpd-unpack'])
    assert.doesNotMatch(spawnSync('readelf', ['-dlW', path.join(STATIC, name)], { encoding: 'utf8' }).stdout, /NEEDED|INTERP/, name);
});

test('a turn in an empty root, by a daemon that knows users and hosts from the files of that root, and an archive', SKIP, () => {
  const repo = path.join(dir, 'repo');

  fs.mkdirSync(repo);
  fs.writeFileSync(path.join(repo, 'a.txt'), 'unpacked\n');
  const out = inRoot(`
    tar -czf repo.tar.gz repo
    $in_root /acpd serve --listen the-name-of-this:0 --agent-user agent --harness-config /h.json >out 2>err & p=$!
    n=0; until grep -q '^acpd listening' out || [ $n = 100 ]; do sleep 0.1; n=$((n + 1)); done; cat err >&2
    echo a-token-of-20-characters | $in_root /acpd claim
    $in_root /acpd run --socket /run/acp.sock --harness stub --cwd /tmp -p 'echo hello; ids'; echo
    $in_root /acpd archive extract /repo.tar.gz /tmp/there; cat tmp/there/repo/a.txt
    kill $p; wait $p; echo ended $?`);

  assert.match(out, /hello[^]*uid=2270/);
  assert.match(out, /^unpacked$/m);
  assert.match(out, /ended 0\n$/);
});
