// SPDX-License-Identifier: Apache-2.0
// build.mjs - first half of make image: runs every step of e2b.Dockerfile with buildah as E2B does (bash -l -c, as root, a layer for each
// step), and prints the size of each layer. The files of the image are in build/image/built then, and in build/image/provisioned with what
// E2B adds (platform.mjs). What the steps say is in build/image/build.log. Needs root.
//
// FROM debian:trixie is a root of that name, made by mmdebstrap from the packages that the image in a registry is made of: a machine without
// such a registry can build too. IMAGE_BASE=pull takes the one of the registry. WITH_PI=no and the like set an ARG. On a machine whose
// connections end in a proxy of its own, NODE_EXTRA_CA_CERTS names that proxy's certificate: steps have the file while they run, and the
// image does not.

import { execFileSync } from 'node:child_process';
import fs from 'node:fs';
import path from 'node:path';
import { readDockerfile } from './dockerfile.mjs';
import { PACKAGES } from './platform.mjs';
import { DOCKERFILE, TOP, WORK } from './places.mjs';

const place = (name) => path.join(WORK, name);
const STORE = place('store');
const LOG = place('build.log');
const NAME = 'acpd-image';
const DRIVER = process.env.STORAGE_DRIVER ?? 'overlay';
const { NODE_EXTRA_CA_CERTS } = process.env;

const run = (program, args, options) => execFileSync(program, args, { encoding: 'utf8', maxBuffer: 1 << 28, ...options })?.trim();
const POLICY = { from: ['--signature-policy', place('policy.json')], commit: ['--signature-policy', place('policy.json')] };

function buildah([command, ...args], options) {
  return run('buildah', ['--root', STORE, '--runroot', place('store-run'), '--storage-driver', DRIVER, command, ...POLICY[command] ?? [], ...args], options);
}

// A command in the container, as E2B runs one. Its words go to the log; if it fails, their end is what is said.
function shell(container, command, environment) {
  const set = Object.entries(environment).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  const mount = NODE_EXTRA_CA_CERTS ? ['--volume', `${place('certificates')}:/mnt:ro`, '--env', 'NODE_EXTRA_CA_CERTS=/mnt/ca.pem'] : [];
  const log = fs.openSync(LOG, 'a');

  try {
    buildah(['run', '--isolation', 'chroot', ...set, ...mount, container, '--', '/bin/bash', '-l', '-c', command], { stdio: ['ignore', log, log] });
  } catch (cause) {
    throw new Error(`a step failed; ${LOG} ends:\n${fs.readFileSync(LOG, 'utf8').slice(-2000)}`, { cause });
  } finally {
    fs.closeSync(log);
  }
}

function base(image) {
  if (process.env.IMAGE_BASE === 'pull')
    return buildah(['from', image]);
  const tar = place('base.tar');

  if (!fs.existsSync(tar)) {
    run('mmdebstrap', ['--quiet', '--mode=root', '--variant=minbase', image.split(':')[1], place('new.tar')]);
    fs.renameSync(place('new.tar'), tar);
  }
  const container = buildah(['from', 'scratch']);

  buildah(['add', '--quiet', container, tar, '/']);
  return container;
}

const DOES = {
  COPY: (container, { from, to }) => buildah(['copy', '--quiet', '--contextdir', TOP, '--ignorefile', path.join(TOP, '.dockerignore'), container, path.join(TOP, from), to]),
  RUN: (container, { command }, environment) => shell(container, command, environment),
};

// Bytes of a layer, uncompressed.
function sizeOf(image) {
  const layers = JSON.parse(fs.readFileSync(path.join(STORE, `${DRIVER}-layers/layers.json`), 'utf8'));
  const { layer } = JSON.parse(fs.readFileSync(path.join(STORE, `${DRIVER}-images/images.json`), 'utf8')).find((i) => i.id.startsWith(image));

  return layers.find((l) => l.id === layer)['diff-size'];
}

function start() {
  for (const name of ['built', 'provisioned', 'store'])
    fs.rmSync(place(name), { recursive: true, force: true });
  fs.mkdirSync(place('certificates'), { recursive: true });
  fs.writeFileSync(LOG, '');
  fs.writeFileSync(place('policy.json'), '{"default":[{"type":"insecureAcceptAnything"}]}');
  if (NODE_EXTRA_CA_CERTS)
    fs.copyFileSync(NODE_EXTRA_CA_CERTS, place('certificates/ca.pem'));
}

function build(steps) {
  const environment = {};
  const rows = [];
  let container = base(steps[0].image);

  for (const step of steps) {
    const from = performance.now();

    if (step.word === 'ARG') {
      environment[step.name] = process.env[step.name] ?? step.value;
      continue;
    }
    DOES[step.word]?.(container, step, environment);
    const image = buildah(['commit', '--quiet', '--rm', container, NAME]);

    rows.push({ step, size: sizeOf(image), seconds: (performance.now() - from) / 1000 });
    container = buildah(['from', NAME]);
  }
  return { container, rows };
}

const megabytes = (bytes) => (bytes / 1e6).toFixed(1).padStart(9);

function print(rows) {
  const total = (of) => of.reduce((sum, { size }) => sum + size, 0);

  console.log('# layers of the image (MB uncompressed, seconds)');
  for (const { step, size, seconds } of rows)
    console.log(`#${megabytes(size)}${seconds.toFixed(0).padStart(6)}  ${`${step.word} ${step.image ?? step.from ?? step.command}`.slice(0, 90)}`);
  console.log(`#${megabytes(total(rows))}        all layers`);
}

// The files of all layers as one tree. A container's root is 0555 here; one of a registry's is 0755.
function unpack(container, name) {
  run('cp', ['-a', buildah(['mount', container]), place(name)]);
  fs.chmodSync(place(name), 0o755);
  buildah(['umount', container]);
}

if (process.getuid() !== 0) {
  console.error('build.mjs: needs root: it mounts layers and makes files of other users');
  process.exit(1);
}
start();
const { container, rows } = build(readDockerfile(fs.readFileSync(DOCKERFILE, 'utf8')));

unpack(container, 'built');
print(rows);
console.log(`#${megabytes(Number(run('du', ['-s', '--block-size=1', place('built')]).split('\t')[0]))}        the files on a disk`);
shell(container, `apt-get update -qq && apt-get install -y -qq --no-install-recommends ${PACKAGES.join(' ')}`, { DEBIAN_FRONTEND: 'noninteractive' });
unpack(container, 'provisioned');
fs.rmSync(STORE, { recursive: true, force: true });
