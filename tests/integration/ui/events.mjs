// SPDX-License-Identifier: Apache-2.0
// Events as a daemon sends them, and a source of them, for the tests of the viewer's model.

const START = Date.parse('2026-11-21T08:00:00.000Z');

// One second apart.
export const numbered = (events) => events.map((e, i) => ({ seq: i + 1, ts: new Date(START + i * 1000).toISOString(), ...e }));

// Ten events of one turn.
export function turn(n, text) {
  const of = (e) => ({ turnId: n, ...e });

  return [
    of({ kind: 'prompt', content: { type: 'text', text: `Task ${n}` } }),
    of({ kind: 'thought', content: { type: 'text', text: `thinking ${n}` } }),
    of({ kind: 'message', messageId: `m${n}`, content: { type: 'text', text } }),
    of({ kind: 'message', messageId: `m${n}`, content: { type: 'text', text: ` and ${n}` } }),
    of({ kind: 'tool_call', event: 'tool_call', toolCallId: `t${n}`, title: `read ${n}`, toolKind: 'read', status: 'pending' }),
    of({ kind: 'tool_call', event: 'tool_call_update', toolCallId: `t${n}`, status: 'in_progress' }),
    of({ kind: 'message', messageId: `n${n}`, content: { type: 'text', text: 'meanwhile' } }),
    of({ kind: 'result', event: 'tool_call_update', toolCallId: `t${n}`, status: 'completed', content: [{ type: 'content', content: { type: 'text', text: 'out' } }] }),
    of({ kind: 'usage', usage: { inputTokens: 10, outputTokens: 2 } }),
    of({ kind: 'complete', final: true, stopReason: 'end_turn', usage: { inputTokens: 10, outputTokens: 2 } }),
  ];
}

// `most`: the most events that one reading gave.
export function sourceOf(events, batch = 100) {
  return {
    most: 0,
    async *read({ since, until = Infinity, signal }) {
      let given = 0;
      for (let at = since; at < Math.min(events.length, until); at += batch) {
        signal.throwIfAborted();
        const some = events.slice(at, Math.min(at + batch, until));
        given += some.length;
        this.most = Math.max(this.most, given);
        yield { events: some, sizes: some.map((e) => JSON.stringify(e).length), bad: 0 };
      }
    },
  };
}
