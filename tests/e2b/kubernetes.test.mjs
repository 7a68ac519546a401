// SPDX-License-Identifier: Apache-2.0
// build: release
// images/kubernetes.yaml: each name that it refers to is there, and what its Pod starts is started: by the image's settings and its own, as
// a user that is not root, with its probes asked. There is no cluster here.

import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { DockerfileParser } from 'dockerfile-ast';
import YAML from 'yaml';
import { ACPD, ROOT } from '../lib/daemon.mjs';
import { deadline } from '../lib/rawws.mjs';
import { until } from '../lib/wait.mjs';

const all = YAML.parseAllDocuments(fs.readFileSync(path.join(ROOT, 'images/kubernetes.yaml'), 'utf8'));
const objects = Object.fromEntries(all.map((d) => [d.toJS().kind, d.toJS()]));
const pod = objects.Pod.spec;
const [container] = pod.containers;
const image = DockerfileParser.parse(fs.readFileSync(path.join(ROOT, 'images/Dockerfile'), 'utf8')).getInstructions();
const imageEnv = Object.fromEntries(image.filter((i) => i.getKeyword() === 'ENV').flatMap((i) => i.getProperties().map((p) => [p.getName(), p.getValue()])));

describe('images/kubernetes.yaml', () => {
  test('is YAML without a warning, one object of each kind', () => {
    assert.deepEqual(all.flatMap((d) => [...d.errors, ...d.warnings]), []);
    assert.deepEqual(Object.keys(objects), ['Secret', 'PersistentVolumeClaim', 'Pod', 'NetworkPolicy']);
    assert.equal(all.length, 4);
  });

  test('what is mounted is a volume, what it comes from is there, and the places are those of the image', () => {
    const volumes = Object.fromEntries(pod.volumes.map((v) => [v.name, v]));
    const places = container.volumeMounts.map((m) => m.mountPath);

    for (const { name } of [...container.volumeMounts, ...pod.initContainers[0].volumeMounts])
      assert.ok(volumes[name], name);
    assert.equal(volumes.state.persistentVolumeClaim.claimName, objects.PersistentVolumeClaim.metadata.name);
    assert.equal(volumes.secret.secret.secretName, objects.Secret.metadata.name);
    for (const name of ['ACPD_STATE', 'ACPD_WORKSPACES', 'ACPD_RUN_DIR'])
      assert.ok(places.includes(imageEnv[name]), name);
    assert.ok(places.includes(path.dirname(imageEnv.ACPD_TOKEN_FILE)));
    assert.equal(pod.initContainers[0].command.at(-1), imageEnv.ACPD_TOKEN_FILE);
    assert.equal(objects.Secret.stringData.token, '', 'no token that somebody might use');
  });

  test('is not root, cannot become it, and writes to what is mounted only', () => {
    assert.deepEqual([pod.securityContext.runAsNonRoot, container.securityContext.allowPrivilegeEscalation, container.securityContext.readOnlyRootFilesystem],
      [true, false, true]);
    assert.deepEqual(container.securityContext.capabilities.drop, ['ALL']);
    assert.equal(pod.automountServiceAccountToken, false);
  });

  test('what is running has the time of its drain, and the rest 15 s, before the Pod is killed', () => {
    const drain = Number(container.env.find((e) => e.name === 'ACPD_DRAIN').value);
    const [, before] = container.lifecycle.preStop.exec.command;

    assert.ok(drain > 0);
    assert.equal(pod.terminationGracePeriodSeconds, Number(before) + drain + 15);
  });

  test('the policy is for the Pod and lets its port in', () => {
    const { podSelector, ingress } = objects.NetworkPolicy.spec;

    assert.deepEqual(podSelector.matchLabels, objects.Pod.metadata.labels);
    assert.deepEqual(ingress[0].ports.map((p) => p.port), container.ports.map((p) => p.containerPort));
    assert.equal(imageEnv.ACPD_LISTEN, `0.0.0.0:${container.ports[0].containerPort}`);
  });
});

// The user of agents is the same in all that makes an image or installs acpd: volumes go from one to the other.
describe('the uid of agent', () => {
  const { runAsUser: uid, runAsGroup, fsGroup } = pod.securityContext;
  const text = (file) => fs.readFileSync(path.join(ROOT, file), 'utf8');

  test('is one in every recipe', () => {
    const recipes = ['e2b.Dockerfile', 'images/README.md'];

    assert.deepEqual([runAsGroup, fsGroup], [uid, uid]);
    for (const file of recipes) {
      const made = [...text(file).matchAll(/useradd ([^&|\n]* )agent\b/g)].map((m) => /--uid (\d+) --user-group /.exec(m[1])?.[1]);

      assert.deepEqual(made, [String(uid)], file);
    }
    // these run setup.sh, and make no agent themselves
    for (const file of ['images/Dockerfile', 'images/install.sh', 'images/dist.sh']) {
      assert.match(text(file), /\bsetup\b/, file);
      assert.doesNotMatch(text(file), /useradd/, file);
    }
  });

  test('setup.sh gives it, with a name, a home and a shell', process.getuid() === 0 ? {} : { skip: 'must be root, to make users' }, () => {
    const dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-setup-'));
    const inCopy = (before) => execFileSync('unshare', ['--mount', 'sh', '-ec', `
      for d in etc home srv; do mkdir -p ${dir}/$d; done; cp -a /etc/. ${dir}/etc; for d in etc home srv; do mount --bind ${dir}/$d /$d; done
      userdel agent 2>/dev/null || :; ${before}
      sh ${path.join(ROOT, 'images/setup.sh')} 61001 61002 >&2; getent passwd agent; getent group agent; stat -c '%a %u' /home/agent`], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

    try {
      assert.equal(inCopy(':'), `agent:x:${uid}:${uid}::/home/agent:/bin/bash\nagent:x:${uid}:\n700 ${uid}\n`);
      fs.rmSync(path.join(dir, 'home'), { recursive: true });
      assert.match(inCopy(`useradd --uid ${uid} --user-group somebody`), /^agent:x:(?!2270)\d+:/, 'it is not taken from another');
    } finally {
      fs.rmSync(dir, { recursive: true, force: true });
    }
  });
});

describe('its Pod', process.getuid() === 0 ? {} : { skip: 'must be root, to be somebody else' }, () => {
  const uid = 65534;
  let dir, child, out = '', ended, port;

  before(async () => {
    dir = fs.mkdtempSync(path.join(os.tmpdir(), 'acpd-pod-'));
    fs.chownSync(dir, uid, uid);
    // as the kubelet mounts it, and the first container then copies it
    fs.writeFileSync(path.join(dir, 'secret'), 'a-token-of-a-secret\n');
    fs.chownSync(path.join(dir, 'secret'), 0, uid);
    fs.chmodSync(path.join(dir, 'secret'), pod.volumes.find((v) => v.name === 'secret').secret.defaultMode);
    const [install, ...rest] = pod.initContainers[0].command;
    execFileSync(install, [...rest.slice(0, -2), path.join(dir, 'secret'), path.join(dir, 'token')], { uid, gid: uid });
    const own = Object.fromEntries(container.env.map((e) => [e.name, e.value]));
    const here = { ACPD_LISTEN: '127.0.0.1:0', ACPD_STATE: `${dir}/state`, ACPD_RUN_DIR: `${dir}/run`, ACPD_WORKSPACES: `${dir}/ws`,
      ACPD_TOKEN_FILE: `${dir}/token`, HOME: dir, PATH: `${path.dirname(ACPD)}:${imageEnv.PATH}` };
    const [entry] = image.filter((i) => i.getKeyword() === 'ENTRYPOINT').map((i) => JSON.parse(i.getRawArgumentsContent()));
    const [command, ...args] = [...entry, ...container.args];

    child = spawn(command, args, { env: { ...imageEnv, ...own, ...here }, uid, gid: uid, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (data) => { out += data; });
    ended = new Promise((resolve) => child.on('close', resolve));
    await until(() => /^acpd listening/m.test(out) || child.exitCode !== null, 'the daemon to listen');
    port = /^acpd listening on ws:\/\/127\.0\.0\.1:(\d+)/m.exec(out)?.[1];
  });
  after(() => {
    child.kill('SIGKILL');
    fs.rmSync(dir, { recursive: true, force: true });
  });

  test('serves: each probe is answered, and the token of the secret is taken', async () => {
    assert.ok(port, out);
    for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe'])
      assert.equal((await fetch(`http://127.0.0.1:${port}${container[probe].httpGet.path}`)).status, 200, probe);
    assert.equal((await fetch(`http://127.0.0.1:${port}/v1/info`, { headers: { authorization: 'Bearer a-token-of-a-secret' } })).status, 200);
  });

  test('ends in order at SIGTERM, long before the grace period', async () => {
    child.kill('SIGTERM');
    assert.equal(await deadline(ended, pod.terminationGracePeriodSeconds * 500, 'the end'), 0, out);
  });
});
