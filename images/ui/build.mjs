// build.mjs OUT - the viewer into the folder OUT: index.html, app.js, app.css, app.*.gz beside them, and the licences of what is in it.
// The same sources give the same bytes. Types are checked before. The page loads nothing else, and it works from disk too: so its
// script is a classic one.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = dirname(fileURLToPath(import.meta.url));
const out = resolve(process.argv[2]);
const work = `${out}.new`; // a reader of OUT never sees half of it
const packages = join(here, 'node_modules');

function run(program, args) {
	try {
		execFileSync(program, args, { cwd: here, stdio: ['ignore', 'inherit', 'inherit'] });
	} catch {
		process.exit(1); // it has said why
	}
}

run(process.execPath, [join(packages, 'typescript/bin/tsc'), '-p', here]);
rmSync(work, { recursive: true, force: true });
mkdirSync(work, { recursive: true });
for (const [source, name, options] of [
	['src/main.tsx', 'app.js', ['--format=iife', '--target=es2022,chrome110,firefox115,safari16',
		'--define:process.env.NODE_ENV="production"']],
	['src/app.css', 'app.css', []],
]) {
	const made = join(work, name);

	run(join(packages, '@esbuild/linux-x64/bin/esbuild'), [
		source, `--outfile=${made}`, '--bundle', '--minify', '--charset=utf8', '--log-level=warning', ...options]);
	writeFileSync(`${made}.gz`, gzipSync(readFileSync(made), { level: 9 }));
}
copyFileSync(join(here, 'index.html'), join(work, 'index.html'));
writeFileSync(join(work, 'licenses.txt'), ['fzstd', 'marked', 'preact'].map((name) =>
	`--- ${name} ---\n\n${readFileSync(join(packages, name, 'LICENSE'), 'utf8').trim()}\n`).join('\n'));
rmSync(out, { recursive: true, force: true });
renameSync(work, out);
