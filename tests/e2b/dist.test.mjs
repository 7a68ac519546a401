// SPDX-License-Identifier: Apache-2.0
// build: release
// What `make dist` makes: the same bytes each time, every library named; installed, started and removed in a root of its own, which is
// this machine's under an overlay, as a Debian package and by install.sh.

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { ACPD, ROOT } from '../lib/daemon.mjs';
import { noticed } from './notice.mjs';

const PROGRAMS = ['acpd', 'acpd-fetch', 'acpd-init', 'acpd-proxy', 'acpd-unpack'];
const has = (program) => spawnSync('sh', ['-c', `command -v ${program}`]).status === 0;
const VERSION = spawnSync(ACPD, ['--version'], { encoding: 'utf8' }).stdout.trim().replace(/^acpd /, '');
let dir, tar, deb, viewer;

function run(command, args, opts = {}) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8', timeout: 120_000, ...opts });

  assert.ifError(error);
  return { status, stdout, stderr };
}

function good(command, args, opts) {
  const r = run(command, args, opts);

  assert.equal(r.status, 0, `${command} ${args.join(' ')}\n${r.stdout}${r.stderr}`);
  return r.stdout;
}

// The programs of a folder into another: [tar, package].
const pack = (to, { programs = path.dirname(ACPD), version = VERSION, env = process.env } = {}) =>
  good('sh', [path.join(ROOT, 'images/dist.sh'), programs, version, path.join(dir, to), viewer], { env }).trim().split('\n');
const hash = (file) => crypto.createHash('sha256').update(fs.readFileSync(file)).digest('hex');

describe('make dist', has('dpkg-shlibdeps') ? {} : { skip: 'there is no dpkg-dev' }, () => {
  before(() => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-dist-'));
    viewer = path.join(dir, 'viewer');
    fs.mkdirSync(viewer);
    for (const name of ['index.html', 'app.js', 'licenses.txt'])
      fs.writeFileSync(path.join(viewer, name), name);
    [tar, deb] = pack('one');
    good('tar', ['-xzf', tar, '-C', dir]);
  });
  after(() => fs.rmSync(dir, { recursive: true, force: true }));

  const top = () => path.join(dir, path.basename(tar, '.tar.gz'));

  test('the same programs give the same bytes', () => {
    const again = pack('two');

    assert.deepEqual([hash(again[0]), hash(again[1])], [hash(tar), hash(deb)]);
  });

  test('the tar is sorted, root\'s, of one time, and has all that install.sh takes', () => {
    const rows = good('tar', ['--full-time', '--numeric-owner', '-tvzf', tar]).trim().split('\n').map((line) => line.split(/\s+/));
    const names = rows.map((row) => row[5].replace(/^[^/]+\//, ''));

    assert.deepEqual([...new Set(rows.map((row) => row[1]))], ['0/0']);
    assert.equal(new Set(rows.map((row) => `${row[3]} ${row[4]}`)).size, 1);
    assert.deepEqual(names, [...names].sort());
    for (const name of [...PROGRAMS.map((p) => `bin/${p}`), 'share/man/man1/acpd.1', 'CHANGELOG.md', 'LICENSE', 'NOTICE', 'acpd.service', 'install.sh', 'share/acpd/ui/index.html', 'share/acpd/ui/licenses.txt'])
      assert.ok(names.includes(name), name);
  });

  test('the programs are stripped and run; NOTICE names every library of each', () => {
    const notice = fs.readFileSync(path.join(top(), 'NOTICE'), 'utf8');

    for (const program of PROGRAMS) {
      const file = path.join(top(), 'bin', program);
      assert.doesNotMatch(good('readelf', ['-S', '-W', file]), /\.debug_info|\.symtab/, program);
      for (const [, library] of good('readelf', ['-d', '-W', file]).matchAll(/NEEDED.*\[(?:lib)?([^\]]+?)(?:-0\.so|\.so)[^\]]*\]/g)) {
        assert.ok(noticed(notice, library, program), `${program}: ${library}`);
      }
    }
    assert.equal(good(path.join(top(), 'bin/acpd'), ['--version']), `acpd ${VERSION}\n`);
  });

  test('the viewer is where the programs look for it, or is said to be missing; NOTICE has every package that is in it', () => {
    const script = path.join(ROOT, 'images/dist.sh');
    const bare = run('sh', [script, path.dirname(ACPD), VERSION, path.join(dir, 'bare'), path.join(dir, 'none')]);
    const packages = Object.keys(JSON.parse(fs.readFileSync(path.join(ROOT, 'images/ui/package.json'))).dependencies);
    const locked = JSON.parse(fs.readFileSync(path.join(ROOT, 'images/ui/package-lock.json'))).packages;
    const notice = fs.readFileSync(path.join(ROOT, 'images/NOTICE'), 'utf8');

    assert.match(good('dpkg-deb', ['-c', deb]), /\.\/opt\/acpd\/share\/acpd\/ui\/index\.html$/m);
    assert.equal(bare.status, 0);
    assert.match(bare.stderr, /without the run viewer/);
    assert.doesNotMatch(good('tar', ['-tzf', bare.stdout.split('\n')[0]]), /share\/acpd/);
    // The rest builds it, and is not in it.
    for (const name of packages.filter((p) => !['@esbuild/linux-x64', 'typescript'].includes(p)))
      assert.match(notice, new RegExp(`^${name} +${locked[`node_modules/${name}`].license ?? '.+'}$`, 'm'), name);
  });

  test('the tar and the package have the changes of this version', () => {
    const text = fs.readFileSync(path.join(ROOT, '.github/CHANGELOG.md'), 'utf8');
    const release = /^\d+\.\d+\.\d+/.exec(VERSION)[0];

    assert.match(text, new RegExp(`^## ${release}(,|$)`, 'm'));
    assert.equal(fs.readFileSync(path.join(top(), 'CHANGELOG.md'), 'utf8'), text);
    assert.equal(good('sh', ['-c', `dpkg-deb --fsys-tarfile '${deb}' | tar -xO ./usr/share/doc/acpd/NEWS.gz | gzip -d`]), text);
  });

  test('the package depends on what the programs need, and has no file of settings', () => {
    const { ID, VERSION_ID } = Object.fromEntries(fs.readFileSync('/etc/os-release', 'utf8').split('\n').map((l) => l.replaceAll('"', '').split('=')));
    const release = `${ID === 'debian' ? 'deb' : ID}${VERSION_ID}`;

    const version = good('dpkg-deb', ['-f', deb, 'Version']).trim();

    assert.ok(version.endsWith(`+${release}`), `${version} names the release that it is for`);
    assert.ok(path.basename(deb).startsWith(`acpd_${version}_`), deb);
    const depends = good('dpkg-deb', ['-f', deb, 'Depends']);

    for (const library of ['libc6 (>= ', 'libwebsockets', 'libarchive13', 'libcurl4', 'passwd'])
      assert.ok(depends.includes(library), `${library}: ${depends}`);
    assert.equal(run('dpkg-deb', ['-I', deb, 'conffiles']).status, 2);
    for (const script of ['postinst', 'prerm', 'postrm'])
      good('sh', ['-n', '-c', good('dpkg-deb', ['-I', deb, script])]);
  });

  test('a package of a commit is newer than that of an earlier one, and older than that of the release', () => {
    const programs = path.join(dir, 'small'); // what is in a package says nothing of its version, and takes seconds to compress
    fs.mkdirSync(programs);
    for (const name of PROGRAMS)
      fs.copyFileSync(path.join(path.dirname(ACPD), 'acpd-proxy'), path.join(programs, name));
    const versions = [['0.1.0-dev+gffffffffffff', 1_700_000_000], ['0.1.0-dev+g000000000000.dirty', 1_700_000_060], ['0.1.0', 1_700_000_120]]
      .map(([version, time], i) => pack(`order-${i}`, { programs, version, env: { ...process.env, SOURCE_DATE_EPOCH: `${time}` } })[1])
      .map((file) => good('dpkg-deb', ['-f', file, 'Version']).trim());

    assert.match(versions[0], /^0\.1\.0~git20231114221320\.ffffffffffff\+/);
    for (const [i, later] of versions.slice(1).entries())
      good('dpkg', ['--compare-versions', versions[i], 'lt', later]);
  });

  test('lintian finds no error', has('lintian') ? {} : { skip: 'there is no lintian: make test-dist installs it' }, () => {
    assert.doesNotMatch(run('lintian', ['--fail-on', 'none', deb]).stdout, /^E: /m);
  });

  describe('installed', process.getuid() === 0 ? {} : { skip: 'must be root' }, () => {
    // Runs a script in a root that is this machine's with nothing of what the script does in it. -> its output
    const inRoot = (script) => good('unshare', ['--mount', '--pid', '--fork', '--propagation', 'private', 'sh', '-ec', `
      d=${dir}/root; mkdir -p $d; mount -t tmpfs tmpfs $d; mkdir $d/upper $d/work $d/root
      mount -t overlay overlay -o lowerdir=/,upperdir=$d/upper,workdir=$d/work $d/root
      mkdir -p $d/root/dist $d/root/proc; mount -t proc proc $d/root/proc; for dev in null,3 random,8 urandom,9; do
        [ -e $d/root/dev/\${dev%,*} ] || mknod -m 666 $d/root/dev/\${dev%,*} c 1 \${dev#*,}; done
      cp -r ${top()}/. $d/root/dist; cp ${deb} $d/root/dist/acpd.deb
      chroot $d/root sh -ec "$1"`, 'sh', script], { env: { PATH: process.env.PATH, HOME: '/root', LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive' } });
    // The daemon as the unit has it, until it answers.
    const SERVES = `
      export ACPD_LISTEN=127.0.0.1:0 ACPD_WORKSPACES=/srv/workspaces ACPD_AGENT_USER=agent ACPD_AGENT_UIDS=61001-61064
      /opt/acpd/bin/acpd entrypoint -- /opt/acpd/bin/acpd serve >/out 2>/err & p=$!
      n=0; until grep -q '^acpd listening' /out || [ $n = 100 ]; do sleep 0.1; n=$((n + 1)); done
      /opt/acpd/bin/acpd sessions && echo serves; cat /err >&2; kill $p; wait $p; echo ended $?`;
    const THERE = 'ls -d /opt/acpd/bin /opt/acpd/lib /var/lib/acpd /etc/acpd /srv/workspaces /usr/bin/acpd 2>/dev/null || :; getent passwd agent agent-61001 agent-61064 acpd-fetch acpd-proxy | cut -d: -f1,3,7';
    const USERS = /^agent:2270:\/bin\/bash\nagent-61001:61001:\/bin\/sh\nagent-61064:61064:\/bin\/sh\nacpd-fetch:\d+:\/usr\/sbin\/nologin\nacpd-proxy:\d+:\/usr\/sbin\/nologin$/m;

    test('the package: users, directories, a daemon that serves; removed and purged', () => {
      const [installed, removed, purged] = inRoot(`
        dpkg --no-triggers -i /dist/acpd.deb >&2; dpkg --no-triggers -i /dist/acpd.deb >&2; ${SERVES}; ${THERE}; cat /opt/acpd/share/acpd/ui/app.js; echo; echo ===
        dpkg --no-triggers -r acpd >&2; ${THERE}; echo ===
        dpkg --no-triggers -P acpd >&2; ${THERE}`).split('===\n');

      assert.match(installed, /^serves\nended 0\n\/etc\/acpd\n\/opt\/acpd\/bin\n\/opt\/acpd\/lib\n\/srv\/workspaces\n\/usr\/bin\/acpd\n\/var\/lib\/acpd\n/);
      assert.match(installed, USERS);
      assert.match(installed, /^app\.js$/m, 'the viewer');
      assert.match(removed, /^\/etc\/acpd\n\/srv\/workspaces\n\/var\/lib\/acpd\nagent:/, 'settings and state stay');
      assert.match(purged, /^\/srv\/workspaces\nagent:/, 'workspaces and users stay');
    });

    test('install.sh: the same again changes nothing; a newer one over a daemon that runs; uninstalled', () => {
      const LIST = 'find /opt/acpd /etc/systemd/system /etc/passwd /etc/group /etc/acpd /srv/workspaces -printf "%p %m %u %s\\n" | sort | sha256sum';
      const [first, second, rest, purged] = inRoot(`
        /dist/install.sh >&2; ${LIST}; ${SERVES}; echo ===
        ACPD_LISTEN=127.0.0.1:0 /opt/acpd/bin/acpd serve >/log 2>&1 & p=$!
        sleep 0.3; /dist/install.sh >&2; ${LIST}; kill $p; wait $p; ${THERE}; cat /opt/acpd/share/acpd/ui/app.js; echo; echo ===
        /dist/install.sh --uninstall >&2; ${THERE}; ls /etc/systemd/system | grep acpd || :; echo ===
        /dist/install.sh --uninstall --purge >&2; ${THERE}; getent passwd | grep -c '^agent-' || :`).split('===\n');

      assert.equal(first.split('\n')[0], second.split('\n')[0]);
      assert.match(first, /\nserves\nended 0\n$/);
      assert.match(second, USERS);
      assert.match(second, /^app\.js$/m, 'the viewer');
      assert.match(rest, /^\/etc\/acpd\n\/srv\/workspaces\n\/var\/lib\/acpd\nagent:/, 'settings, state and users stay');
      assert.doesNotMatch(rest, /\.service/);
      assert.equal(purged, '/srv/workspaces\n0\n');
    });

    test('install.sh refuses what it does not know, and programs that do not run here', () => {
      assert.match(inRoot(`
        /dist/install.sh --nonsense 2>&1 || echo $?
        /dist/install.sh --purge 2>&1 || echo $?
        printf '\\177ELF' >/dist/bin/acpd; /dist/install.sh 2>&1 || echo $?; ls /opt/acpd 2>/dev/null || echo nothing`),
      /^install\.sh: --nonsense: .*\n2\ninstall\.sh: --purge goes.*\n2\ninstall\.sh: .*bin\/acpd does not run here:\n[^]*\n1\nnothing\n$/);
    });
  });
});
