// e2b.Dockerfile goes through the parser that E2B's own tools use (npm package e2b), and comes out as the steps we mean.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, createReadStream, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { before, describe, test } from 'node:test'
import { Template } from 'e2b'
import { readUnit } from './unit-file.mjs'

const top = join(import.meta.dirname, '../..')
const path = join(top, 'e2b.Dockerfile')
const packages = JSON.parse(readFileSync(join(top, 'tests/package.json'), 'utf8'))

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

// The instructions of the file as Docker reads them: comments out, continued lines joined, blanks collapsed.
function instructions(text) {
  return text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replace(/\\\n/g, ' ')
    .split('\n')
    .map((line) => line.trim().replace(/\s+/g, ' '))
    .filter(Boolean)
}

describe('e2b.Dockerfile', () => {
  const text = readFileSync(path, 'utf8')
  const lines = instructions(text)
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

  test('has one stage on Debian 12 and only instructions that mean the same to E2B and to Docker', () => {
    const words = lines.map((line) => line.split(' ')[0])
    assert.deepEqual([...new Set(words)].sort(), ['COPY', 'FROM', 'RUN'])
    assert.equal(words.filter((word) => word === 'FROM').length, 1)
    assert.equal(parsed.fromImage, 'debian:bookworm')
    // E2B drops --chmod, --from and --link, runs no exec form and no heredoc, and has no build mounts.
    for (const line of lines) assert.doesNotMatch(line, /^(COPY|RUN) (--|\[|<<)/, line)
  })

  test('becomes the steps we mean: as root, and E2B\'s own user afterwards', () => {
    const types = parsed.steps.map((step) => step.type)
    const expected = ['RUN', 'RUN', ...Array(6).fill('COPY'), 'RUN']
    assert.deepEqual(types, ['USER', 'WORKDIR', ...expected, 'USER', 'WORKDIR'])
    assert.deepEqual(steps(parsed, 'USER').map((step) => step.args[0]), ['root', 'user'])
    assert.deepEqual(steps(parsed, 'WORKDIR').map((step) => step.args[0]), ['/', '/home/user'])
  })

  test('has no start command: systemd starts the daemon, and a ready command comes with the build', () => {
    assert.equal(parsed.startCmd, undefined)
    assert.equal(parsed.readyCmd, undefined)
  })

  test('loses nothing of a RUN on the way, and each is a shell command', () => {
    assert.deepEqual(run, lines.filter((line) => line.startsWith('RUN ')).map((line) => line.slice(4)))
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

  test('pins OpenCode: the version the tests run, and its hash', async () => {
    const version = packages.dependencies['opencode-linux-x64']
    const fetch = run.find((command) => command.includes('npm install'))
    const install = fetch.match(/npm install [^&]*/)[0].trim().split(' ')
    assert.equal(install.at(-1), `opencode-linux-x64@${version}`)
    assert.ok(install.includes('--ignore-scripts'))
    const [, digest, file] = fetch.match(/echo ([0-9a-f]{64}) (\S+) \| sha256sum -c -/)
    assert.equal(file, 'node_modules/opencode-linux-x64/bin/opencode')
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(top, 'tests', file)), hash)
    assert.equal(hash.digest('hex'), digest)
  })

  test('installs below /opt/acpd, and nothing where E2B opens it to everyone or throws it away', () => {
    assert.ok(run.some((command) => command.includes('make install PREFIX=/opt/acpd ')))
    assert.ok(run.some((command) => command.includes('cd /opt/acpd/harnesses/opencode ')))
    assert.doesNotMatch(JSON.stringify(parsed.steps), /\/usr\/local|\/tmp\b|\/code\b/)
    assert.match(run.at(-1), /chown -R root:root \/opt\/acpd && chmod -R go-w \/opt\/acpd/)
  })

  test('takes out in the same step what it installs for building only', () => {
    const installs = run.filter((command) => /install-deps\.sh|apt-get install/.test(command))
    assert.equal(installs.length, 2)
    for (const command of installs) {
      const at = command.indexOf('apt-get purge -y -qq --auto-remove')
      assert.ok(at > command.search(/npm install|make install/), command)
      assert.match(command, /rm -rf .*\/var\/lib\/apt\/lists\/\*/)
    }
    const list = (name) => spawnSync('sh', [join(top, 'tests/install-deps.sh'), '--debian', '12', '--list', name], { encoding: 'utf8' })
    const runtime = list('runtime').stdout.trim().split(' ')
    const build = list('build').stdout.trim().split(' ')
    assert.ok(build.includes('gcc') && runtime.includes('libwebsockets17'))
    assert.deepEqual(runtime.filter((name) => build.includes(name)), [])
  })

  test('holds no secret', () => {
    assert.deepEqual(steps(parsed, 'ENV'), [])
    for (const line of lines) assert.doesNotMatch(line, /token|secret|passw|credential|api.?key|bearer|sk-/i)
  })

  test('makes the agent user: own uid, closed home, no way to become root', () => {
    const make = run.find((command) => command.includes('useradd'))
    assert.match(make, /useradd --uid 2270 --user-group --create-home --shell \/bin\/bash agent /)
    assert.match(make, /chmod 0700 \/home\/agent/)
    assert.doesNotMatch(run.join('\n'), /sudo|usermod|adduser|--groups|chpasswd/)
  })

  test('installs the unit, enables it, and both agree on names', () => {
    const unit = '/etc/systemd/system/acpd.service'
    assert.ok(run.at(-1).includes(`install -D -m 0644 images/acpd.service ${unit} `))
    assert.ok(run.at(-1).includes(`ln -s ${unit} /etc/systemd/system/multi-user.target.wants/acpd.service `))
    const { Service } = readUnit(readFileSync(join(top, 'images/acpd.service'), 'utf8'))
    assert.ok(Service.ExecStart[0].startsWith('/opt/acpd/bin/acpd '))
    assert.ok(Service.Environment.includes('ACPD_AGENT_USER=agent'))
    // the range that make install-users makes the users of
    const range = readFileSync(join(top, 'Makefile'), 'utf8').match(/^AGENT_UIDS \?= (\d+) (\d+)$/m)
    assert.ok(Service.Environment.includes(`ACPD_AGENT_UIDS=${range[1]}-${range[2]}`))
    assert.ok(run.some((command) => command.includes('make install PREFIX=/opt/acpd && make install-users ')))
    // and what closes the ways to root, at boot and whenever an account changes
    for (const name of ['acpd-logins.service', 'acpd-logins.path']) {
      assert.ok(run.at(-1).includes(` images/${name} `), name)
      assert.ok(run.at(-1).includes(`ln -s /etc/systemd/system/${name} /etc/systemd/system/multi-user.target.wants/${name} `))
    }
    const { Service: logins } = readUnit(readFileSync(join(top, 'images/acpd-logins.service'), 'utf8'))
    assert.ok(run.at(-1).includes(`install -D -m 0755 images/close-logins.sh ${logins.ExecStart[0]} `))
    assert.ok(run.at(-1).includes(` && ${logins.ExecStart[0]} `), 'and in the image itself')
    const workspaces = Service.Environment.find((item) => item.startsWith('ACPD_WORKSPACES=')).split('=')[1]
    assert.ok(run.some((command) => command.includes(`install -d -m 0755 ${workspaces} `)))
  })
})

describe('the parser is really run', () => {
  test('it refuses a second stage', async () => {
    await assert.rejects(parse('FROM debian:bookworm AS build\nRUN make\nFROM debian:bookworm\n'), /[Mm]ulti-stage/)
  })

  test('it warns of an instruction it does not know, and we see the warning', async () => {
    const { warnings } = await parse('FROM debian:bookworm\nHEALTHCHECK CMD true\n')
    assert.match(warnings.join('\n'), /HEALTHCHECK/)
  })

  test('it turns CMD into a start command', async () => {
    const { startCmd, readyCmd } = await parse('FROM debian:bookworm\nCMD ["acpd", "serve"]\n')
    assert.equal(startCmd, 'acpd serve')
    assert.ok(readyCmd)
  })

  test('it refuses a COPY of what is not there', async () => {
    await assert.rejects(parse('FROM debian:bookworm\nCOPY no-such-file /usr/src/acpd/x\n', true), /No files found/)
  })
})
