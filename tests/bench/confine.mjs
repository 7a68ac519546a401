// SPDX-License-Identifier: Apache-2.0
// What confinement costs: what a level adds to a start, beside a bare spawn and what others have (levels.c), what it holds of memory, and
// the filter of each level, in calls and in starts, beside a filter that allows everything (filter.c).
//
// bubblewrap and srt stand beside it where they are; make bench-sandboxes installs them.

import fs from 'node:fs';
import path from 'node:path';
import { execFileSync } from 'node:child_process';
import { available, Proxy } from '../lib/egress.mjs';
import * as procs from '../lib/procs.mjs';
import { ACPD, figures, MIB, program, ROOT, scratch } from './rig.mjs';

const SRT = { name: '@anthropic-ai/sandbox-runtime', version: '0.0.83' };
const DIR = path.join(ROOT, 'build', 'peers');
const srt = path.join(DIR, 'node_modules', '.bin', 'srt');

function install() {
  const manifest = path.join(DIR, 'node_modules', SRT.name, 'package.json');

  execFileSync('sh', [path.join(ROOT, 'tests/install-deps.sh'), 'sandboxes'], { stdio: 'inherit' });
  if (fs.existsSync(manifest) && JSON.parse(fs.readFileSync(manifest)).version === SRT.version)
    return;
  console.log(`installing ${SRT.name} ${SRT.version} into build/peers`);
  fs.mkdirSync(DIR, { recursive: true });
  if (!fs.existsSync(path.join(DIR, 'package.json')))
    fs.writeFileSync(path.join(DIR, 'package.json'), '{"private":true}\n');
  execFileSync('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--omit-lockfile-registry-resolved',
    `${SRT.name}@${SRT.version}`], { cwd: DIR, stdio: 'inherit' });
}

const onPath = (name) => process.env.PATH.split(':').map((dir) => path.join(dir, name)).find((file) => fs.existsSync(file));

function peers() {
  const bwrap = onPath('bwrap');
  const found = [];

  if (bwrap)
    found.push('bubblewrap', bwrap, '--unshare-all', '--ro-bind', '/', '/', '--dev', '/dev', '--proc', '/proc', ',');
  if (bwrap && fs.existsSync(srt))
    found.push('srt', process.execPath, fs.realpathSync(srt), ',');
  return found;
}

// Of acpd-proxy, which all sessions share.
async function proxyMemory() {
  if (!available)
    return undefined;
  const proxy = Proxy.start();

  await proxy.open({ mode: 'allowlist', allow: [{ host: 'example.com' }] });
  const private_ = procs.privateDirty(proxy.pid());
  await proxy.stop();
  return private_;
}

async function starts(table, n) {
  if (process.getuid() !== 0) {
    console.log('starts are left out: only root can switch to another user');
    return;
  }
  const dir = fs.mkdtempSync(path.join(scratch, 'levels-'));
  fs.chmodSync(scratch, 0o711);
  fs.chownSync(dir, 65534, 65534);
  const { init, bare, ...forms } = await figures(program('levels'), [n.starts, path.join(path.dirname(ACPD), 'acpd-init'), dir, ...peers()]);
  const rows = {
    open: ['open', undefined], guarded: ['guarded', 3], strict: ['strict, in a session that is there', 8],
    first: ['strict, its namespaces made for it', 8], bubblewrap: ['bubblewrap', undefined], srt: ['srt', undefined],
  };

  table.section(`a start of /bin/true, of ${n.starts}: what is added to posix_spawn`);
  for (const [form, { p50, p99 }] of Object.entries(forms))
    table.add({
      what: rows[form][0], unit: 'ms', value: p50 - bare.p50, bar: rows[form][1],
      refs: [{ name: 'bare', value: bare.p50 }], note: `p99 ${p99.toFixed(2)} ms, bare ${bare.p99.toFixed(2)} ms`,
    });
  if (!forms.srt)
    console.log('bubblewrap or srt is not here: make bench-sandboxes installs them');
  table.section('memory that is nobody else\'s');
  table.add({ what: 'acpd-init of a session at strict', unit: 'mib', value: init, bar: MIB });
  const proxy = await proxyMemory();
  if (proxy !== undefined)
    table.add({ what: 'acpd-proxy, one of all sessions, private dirty', unit: 'mib', value: proxy, bar: MIB });
}

async function filters(table, n) {
  const { call, ioctl, start, make_ms: make } = await figures(program('filter'), [n.rounds, n.calls]);
  const row = (what, unit, of, level, bar) => table.add({
    what: `${level}: ${what}`, unit, value: (of[level] - of.none), bar,
    refs: [{ name: 'a filter that allows all', value: of.any - of.none }],
    note: `${of.none.toFixed(0)} without`,
  });

  table.section('a filter of system calls');
  for (const level of ['guarded', 'strict']) {
    row('added to a call that no row names', 'ns', call, level, 40);
    row('added to a call whose arguments count', 'ns', ioctl, level);
    row('added to fork and exit', 'us', start, level);
  }
  table.add({ what: 'making one, once in a daemon', unit: 'ms', value: make });
}

export async function confine(table, n) {
  if (process.env.BENCH_SANDBOXES === '1')
    install();
  await starts(table, n);
  await filters(table, n);
}
