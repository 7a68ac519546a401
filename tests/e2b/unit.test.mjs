// build: release
// images/acpd.service: systemd accepts every line of it, and it says what a sandbox needs.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { readUnit } from './unit-file.mjs'

const top = join(import.meta.dirname, '../..')
const text = readFileSync(join(top, 'images/acpd.service'), 'utf8')

// What systemd 252 (Debian 12) knows, of what we use. Whoever adds a key adds it here, having looked it up; what is
// inherited by harnesses and breaks their own sandboxes (NoNewPrivileges, System-, Restrict-, Protect-, Private-)
// stays out.
const known = {
  Unit: ['Description', 'After', 'StartLimitIntervalSec'],
  Service: [
    'Type', 'ExecStart', 'ExecReload', 'TimeoutStartSec', 'Restart', 'RestartSec', 'Environment', 'EnvironmentFile', 'RuntimeDirectory',
    'RuntimeDirectoryMode', 'StateDirectory', 'StateDirectoryMode', 'KillMode', 'TimeoutStopSec', 'Delegate',
    'OOMPolicy', 'OOMScoreAdjust', 'TasksMax', 'LimitNOFILE', 'LimitCORE', 'CapabilityBoundingSet', 'KeyringMode', 'UMask',
  ],
  Install: ['WantedBy'],
}
const repeatable = ['Environment']

function checkKeys(unit) {
  for (const [section, keys] of Object.entries(unit)) {
    assert.ok(known[section], `unknown section [${section}]`)
    for (const [key, values] of Object.entries(keys)) {
      assert.ok(known[section].includes(key), `unknown key ${key} in [${section}]`)
      assert.ok(values.length === 1 || repeatable.includes(key), `${key} is given twice`)
    }
  }
}

// systemd-analyze wants the program to exist, so a copy starts another one. It reports unknown keys and bad values on
// stderr but ends with 0, so silence is what counts.
function analyze(content, name = 'acpd.service', beside = {}) {
  const dir = mkdtempSync(join(tmpdir(), 'acpd-unit-'))
  try {
    const file = join(dir, name)
    for (const [unit, lines] of Object.entries({ ...beside, [name]: content }))
      writeFileSync(join(dir, unit), lines.replace(/[/]opt[/]acpd[/]\S+/g, process.execPath))
    const { status, stdout, stderr, error } = spawnSync('systemd-analyze', ['verify', '--man=no', file], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    if (error?.code === 'ENOENT') return undefined
    assert.ifError(error)
    return { status, said: (stdout + stderr).trim() }
  } finally {
    rmSync(dir, { recursive: true })
  }
}

describe('images/acpd.service', () => {
  const unit = readUnit(text)
  const { Service } = unit

  test('has only keys that systemd knows, each once', () => {
    checkKeys(unit)
    assert.throws(() => checkKeys(readUnit('[Service]\nKillMood=mixed\n')), /KillMood/)
    assert.throws(() => checkKeys(readUnit('[Service]\nRestart=no\nRestart=always\n')), /twice/)
    assert.throws(() => readUnit('Restart=always\n'), /line 1/)
    assert.throws(() => readUnit('[Service]\nRestart = \n'), /line 2/)
  })

  test('passes systemd-analyze verify', (t) => {
    const result = analyze(text)
    if (!result) return t.skip('no systemd-analyze')
    assert.deepEqual(result, { status: 0, said: '' })
    assert.match(analyze(text.replace('KillMode=mixed', 'KillMode=some')).said, /[Kk]ill ?[Mm]ode/)
    assert.match(analyze(text.replace('KillMode=', 'KillMood=')).said, /KillMood/)
  })

  test('starts the daemon early, again and for ever', () => {
    assert.deepEqual(Service.ExecStart, ['/opt/acpd/bin/acpd serve'])
    assert.deepEqual(Service.Restart, ['always'])
    assert.deepEqual(unit.Unit.StartLimitIntervalSec, ['0'])
    assert.deepEqual(unit.Unit.After, ['network.target'])
    assert.deepEqual(unit.Install.WantedBy, ['multi-user.target'])
    assert.ok(!('User' in Service), 'root, because it starts harnesses as another user')
  })

  test('keeps the daemon alive, its cgroup its own, and harnesses in its hands', () => {
    assert.deepEqual(Service.OOMScoreAdjust, ['-900'])
    assert.deepEqual(Service.OOMPolicy, ['continue'])
    assert.deepEqual(Service.Delegate, ['yes'])
    assert.deepEqual(Service.KillMode, ['mixed'])
    assert.ok(Number(Service.TimeoutStopSec[0]) > 8, 'longer than the daemon takes to stop its harnesses')
  })

  test('its settings are options of the daemon, and the environment file wins over them', () => {
    const page = readFileSync(join(top, 'daemon/acpd.1'), 'utf8')
    const settings = Service.Environment.filter((item) => item.startsWith('ACPD_'))
    assert.ok(settings.includes('ACPD_LISTEN=0.0.0.0:2270'))
    for (const item of settings) {
      const flag = item.slice(5, item.indexOf('=')).toLowerCase().replaceAll('_', '-')
      assert.match(page, new RegExp(`^\\.It Fl Fl ${flag}( |$)`, 'm'), `${item} is no option of acpd serve`)
    }
    assert.deepEqual(Service.EnvironmentFile, ['-/etc/acpd/acpd.env'])
    assert.ok(text.indexOf('EnvironmentFile=') > text.lastIndexOf('\nEnvironment='))
  })

  test('its directories are the ones it creates, and open for passing through only', () => {
    assert.ok(Service.Environment.includes(`ACPD_RUN_DIR=/run/${Service.RuntimeDirectory[0]}`))
    assert.ok(Service.Environment.includes(`ACPD_STATE=/var/lib/${Service.StateDirectory[0]}`))
    assert.deepEqual(Service.RuntimeDirectoryMode, ['0711'])
    assert.deepEqual(Service.StateDirectoryMode, ['0711'])
  })

  test('looks for programs only where root alone can put them, and holds no secret', () => {
    const search = Service.Environment.find((item) => item.startsWith('PATH=')).slice(5).split(':')
    assert.ok(['codex', 'opencode', 'pi'].every((id) => search.includes(`/opt/acpd/harnesses/${id}/bin`)) && search.includes('/opt/acpd/node/bin') && search.includes('/usr/bin'))
    for (const dir of search) assert.doesNotMatch(dir, /^(\/usr\/local|\/home|\/tmp|\.|$)/)
    const code = text.split('\n').filter((line) => !line.startsWith('#')).join('\n')
    assert.doesNotMatch(code, /token|secret|passw|key=/i)
  })
})

describe('images/acpd-logins.service and .path', () => {
  const read = (name) => readFileSync(join(top, 'images', name), 'utf8')
  const [service, watch] = ['acpd-logins.service', 'acpd-logins.path'].map(read)

  test('run before anybody can log in, and again whenever an account or sshd changes', () => {
    const { Unit, Service, Install } = readUnit(service)
    assert.deepEqual(Unit.Before, ['ssh.service ssh.socket sshd.service acpd.service'])
    assert.deepEqual(Unit.StartLimitIntervalSec, ['0'])
    assert.deepEqual([Service.Type, Service.RemainAfterExit], [['oneshot'], undefined], 'starts again each time')
    assert.deepEqual(readUnit(watch).Path.PathChanged, ['/etc/shadow', '/etc/passwd', '/etc/ssh/sshd_config'])
    for (const unit of [Install, readUnit(watch).Install]) assert.deepEqual(unit.WantedBy, ['multi-user.target'])
  })

  test('pass systemd-analyze verify', (t) => {
    const result = analyze(watch, 'acpd-logins.path', { 'acpd-logins.service': service })
    if (!result) return t.skip('no systemd-analyze')
    assert.deepEqual(result, { status: 0, said: '' })
  })
})
