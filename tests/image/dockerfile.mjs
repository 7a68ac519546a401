// SPDX-License-Identifier: Apache-2.0
// Reads a Dockerfile strictly: only what E2B's builder and Docker take in the same way, anything else is refused with its line.

// keyword: what its arguments become, or a text that says what is wrong with them
const TAKEN = {
  FROM: (args) => (/^[a-z0-9./:-]+$/.test(args) ? { image: args } : 'one image, without flags, variables and stages'),
  ARG(args) {
    const [, name, value] = /^([A-Z][A-Z0-9_]*)=([A-Za-z0-9_.-]+)$/.exec(args) ?? [];

    return name ? { name, value } : 'NAME=value, because E2B gives none while it builds';
  },
  COPY(args) {
    const [from, to, ...more] = args.split(' ');

    return from.startsWith('-') || from.startsWith('[') || !to?.startsWith('/') || more.length ? 'one source and one absolute target, without flags'
      : { from, to };
  },
  RUN: (args) => (/^(--|\[|<<)/.test(args) ? 'a shell command, without flags, exec form and heredoc' : { command: args }),
};

// The instructions, comments out, continued lines joined, blanks collapsed: [{word, args, line}].
function* instructions(text) {
  let joined = '', begun = 0;

  for (const [index, line] of text.split('\n').entries()) {
    if (/^\s*#/.test(line) || (!joined && !line.trim()))
      continue;
    if (!line.trim())
      break;
    begun ||= index + 1;
    joined += ` ${line.replace(/\\\s*$/, '')}`;
    if (/\\\s*$/.test(line))
      continue;
    const [word, ...args] = joined.trim().split(/\s+/);

    yield { word, args: args.join(' '), line: begun };
    [joined, begun] = ['', 0];
  }
  if (joined)
    throw new Error(`line ${begun}: the instruction does not end`);
}

// [{word, …}] with image, name and value, from and to, or command.
export function readDockerfile(text) {
  const steps = [...instructions(text)].map(({ word, args, line }) => {
    const step = TAKEN[word]?.(args) ?? 'E2B ignores it, or takes it for something else';

    if (typeof step === 'string')
      throw new Error(`line ${line}: ${word}: ${step}`);
    return { word, ...step };
  });

  if (steps[0]?.word !== 'FROM' || steps.filter((step) => step.word === 'FROM').length !== 1)
    throw new Error('FROM comes first, and once: E2B takes no second stage');
  return steps;
}
