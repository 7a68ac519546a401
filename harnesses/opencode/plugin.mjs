// SPDX-License-Identifier: Apache-2.0
// Runs inside OpenCode; what it does and why: plugin.h.
import { readFile, readlink, realpath, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
const append = process.env.ACPD_SYSTEM_APPEND;
delete process.env.ACPD_SYSTEM_APPEND;
const editDirs = JSON.parse(process.env.ACPD_EDIT_DIRS ?? '[]');
delete process.env.ACPD_EDIT_DIRS;
const say = (what, params) => process.stdout.write(
  JSON.stringify({ jsonrpc: '2.0', method: '_acpd/' + what, params }) + '\n');
const textOf = async (file) => {
  try {
    const { size } = await stat(file);
    return size <= 1 << 20 ? await readFile(file, 'utf8') : undefined;
  } catch (e) {
    return e.code === 'ENOENT' ? null : undefined;
  }
};
// Where a write really goes; undefined: cannot be told.
const realPlace = async (file, hops = 0) => {
  if (hops > 40) return undefined;
  const real = await realpath(file).catch(() => undefined);
  if (real !== undefined || file === '/') return real;
  const target = await readlink(file).catch(() => undefined); // of a link to what is not there yet
  if (target !== undefined) return realPlace(resolve(dirname(file), target), hops + 1);
  const parent = await realPlace(dirname(file), hops + 1);
  return parent && join(parent, basename(file));
};
const editsInside = async ({ permission, metadata }) => {
  if (permission !== 'edit' || !metadata) return false;
  const files = metadata.files?.flatMap(({ filePath, movePath }) => movePath ? [filePath, movePath] : [filePath]) ?? [metadata.filepath];
  const dirs = await Promise.all(editDirs.map((dir) => realpath(dir).catch(() => undefined)));
  const places = await Promise.all(files.map((file) => realPlace(String(file))));
  return places.length > 0 && places.every((place) => dirs.some((dir) => dir && place && join(place, '/').startsWith(join(dir, '/'))));
};
const PATCHED = /^[*]{3} (?:(?:Add|Update|Delete) File|Move to): (.+)$/gm;
const written = {
  write: ({ filePath }) => [filePath],
  apply_patch: ({ patchText }) => [...String(patchText).matchAll(PATCHED)].map((m) => m[1].trim()),
};
// What is for us of what acpd writes to OpenCode: short lines that begin so.
const LIMIT = /^\{"jsonrpc":"2\.0","method":"_acpd\/limit","params":\{"toolCalls":(null|\d+)\}\}$/;
const NO_COMMAND = '\u200b'; // before a text that is not to be taken for a command; the model does not see it
const LINE_MAX = 200, CANCEL_MS = 1000;
let left = Infinity, line = '';
const onLine = () => {
  const limit = LIMIT.exec(line);
  if (limit) left = limit[1] === 'null' ? Infinity : Number(limit[1]);
  line = '';
};
const listen = (chunk) => {
  for (let at = 0; at <= chunk.length;) {
    const found = chunk.indexOf(10, at), end = found < 0 ? chunk.length : found;
    line += chunk.toString('latin1', at, Math.min(end, at + LINE_MAX - line.length));
    if (found < 0) break;
    onLine();
    at = end + 1;
  }
};
export const AcpdReport = async ({ client, directory }) => {
  const parents = new Map(), models = new Map(), told = new Set(), compactions = new Map();
  const before = new Map(), overflows = new Map(), latest = new Map(), broken = new Set();
  let config = {}, compaction;
  const { stdin } = process, { emit } = stdin;
  // a listener more would have Bun read anew
  stdin.emit = (name, ...rest) => {
    if (name === 'data') listen(rest[0]);
    return emit.call(stdin, name, ...rest);
  };
  const root = (id) => { while (parents.has(id)) id = parents.get(id); return id; };
  const on = {
    'session.created': ({ info }) => { if (info.parentID) parents.set(info.id, info.parentID); },
    'session.idle': ({ sessionID }) => {
      if (parents.has(sessionID)) return;
      [models, told, before, overflows, latest, broken].forEach((all) => all.clear());
      config.compaction = compaction;
    },
    'message.updated': ({ info }) => {
      if (info.role !== 'assistant') return;
      latest.set(info.sessionID, info.id);
      models.set(info.id, { model: info.modelID, provider: info.providerID, summary: info.summary });
      if (info.summary && !told.has(info.id)) {
        told.add(info.id);
        say('summary', { sessionId: info.sessionID, messageId: info.id, id: compactions.get(info.sessionID) });
      }
    },
    'message.part.updated': ({ part }) => {
      if (part.type === 'step-start' && broken.delete(part.messageID))
        say('again', { sessionId: part.sessionID, messageId: part.messageID });
      if (part.type === 'step-finish' && !told.has(part.id)) {
        told.add(part.id);
        if (!models.get(part.messageID)?.summary)
          overflows.delete(part.sessionID);
        say('call', { sessionId: root(part.sessionID), ...models.get(part.messageID), reason: part.reason,
          tokens: part.tokens, cost: part.cost, child: parents.has(part.sessionID) });
      } else if (part.type === 'compaction' && !compactions.has(part.sessionID)) {
        compactions.set(part.sessionID, part.id);
        say('compaction', { sessionId: part.sessionID, id: part.id, status: 'in_progress' });
      }
    },
    'session.compacted': ({ sessionID }) => {
      say('compaction', { sessionId: sessionID, id: compactions.get(sessionID), status: 'completed' });
      compactions.delete(sessionID);
    },
    'todo.updated': ({ sessionID, todos }) => {
      if (!parents.has(sessionID)) say('plan', { sessionId: sessionID, todos });
    },
    'session.status': ({ sessionID, status }) => {
      if (status.type !== 'retry') return;
      broken.add(latest.get(sessionID));
      say('retry', { sessionId: root(sessionID), attempt: status.attempt, message: status.message });
    },
    'session.error': ({ sessionID, error }) => {
      const nth = error?.name === 'ContextOverflowError' ? (overflows.get(sessionID) ?? 0) + 1 : 0;
      overflows.set(sessionID, nth);
      if (error && !parents.has(sessionID))
        say('error', { sessionId: sessionID, name: error.name, message: error.data?.message,
          status: error.data?.statusCode, retryable: error.data?.isRetryable });
      if (nth === 2)
        config.compaction = { ...compaction, auto: false };
    },
    'permission.asked': async ({ id, sessionID, ...asked }) => {
      if (parents.has(sessionID))
        await client.postSessionIdPermissionsPermissionId({ path: { id: sessionID, permissionID: id },
          body: { response: await editsInside(asked).catch(() => false) ? 'once' : 'reject' } });
    },
  };
  return {
    'tool.execute.before': async ({ tool, sessionID, callID }, { args }) => {
      if (!parents.has(sessionID) && left-- <= 0) { // those of subagents are shown to nobody and counted by nobody
        await new Promise((go) => setTimeout(go, CANCEL_MS)); // the cancel is on its way: the model has no more to say
        throw new Error('The budget of tool calls is used up.');
      }
      const files = (written[tool]?.(args) ?? []).filter((file) => typeof file === 'string');
      const old = async (file) => ({ type: 'diff', path: file, oldText: await textOf(file) });
      if (files.length)
        before.set(callID, await Promise.all(files.map((file) => old(resolve(directory, file)))));
    },
    'chat.message': async (input, { parts }) => {
      const mark = parts.findIndex((part) => part.type === 'text' && part.text === NO_COMMAND);
      if (mark >= 0) parts.splice(mark, 1);
    },
    'tool.execute.after': async ({ tool, sessionID, callID }, output) => {
      if (tool === 'bash' && output?.metadata?.exit)
        output.output += `\n\n(exit code ${output.metadata.exit})`;
      const diffs = [];
      for (const diff of before.get(callID) ?? []) {
        const newText = await textOf(diff.path);
        if (newText !== undefined && diff.oldText !== undefined)
          diffs.push({ ...diff, newText: newText ?? '' });
      }
      before.delete(callID);
      if (diffs.length)
        say('change', { sessionId: sessionID, callId: callID, diffs });
    },
    config: async (given) => { config = given; compaction = given.compaction; },
    event: async ({ event }) => { await on[event.type]?.(event.properties); },
    'experimental.chat.system.transform': async (input, output) => {
      if (append) output.system.push(append);
    },
    'shell.env': async (input, output) => {
      for (const name of ['ACPD_PROVIDER_KEY', 'OPENCODE_SERVER_PASSWORD', 'OPENCODE_CONFIG_CONTENT'])
        output.env[name] = '';
    },
  };
};
