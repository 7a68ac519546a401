// SPDX-License-Identifier: Apache-2.0
// Runs of AG-UI.
import { array, content, events, fields, foreign, json, object, query, ref, word } from '../notation.mjs';

const EVENTS = [
  'RUN_STARTED', 'RUN_FINISHED', 'RUN_ERROR', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END', 'REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
  'REASONING_MESSAGE_END', 'REASONING_END', 'TOOL_CALL_START', 'TOOL_CALL_ARGS', 'TOOL_CALL_END', 'TOOL_CALL_RESULT', 'STATE_SNAPSHOT', 'STATE_DELTA', 'MESSAGES_SNAPSHOT', 'ACTIVITY_SNAPSHOT',
  'ACTIVITY_DELTA', 'CUSTOM', 'RAW', 'STEP_STARTED', 'STEP_FINISHED', 'SUBAGENT_STARTED', 'SUBAGENT_FINISHED', 'SUBAGENT_ERROR',
];

export default {
  page: 'agui',
  parameters: { harness: { description: 'the id of a harness', schema: { type: 'string' } } },
  types: {
    AguiEvent: object({ type: word(EVENTS) }, 'an event of AG-UI: @ag-ui/core describes its other members', { additionalProperties: true }),
    AguiMessage: { ...fields('daemon/agui/agui_input.c:message_fields', {
      id: 'unique in the thread', role: { description: 'whose it is', enum: ['user', 'system', 'developer', 'assistant', 'tool', 'reasoning', 'activity'] },
      toolCallId: 'of role tool: the call', content: foreign('text, or parts'), error: foreign('of role tool: why there is no result'),
    }), additionalProperties: true },
    RunAgentInput: { ...fields('daemon/agui/agui_input.c:input_fields', {
      threadId: 'the thread: a session', runId: 'of the client', protocolVersion: '1.0; absent: 0.0.x', parentRunId: 'of the client',
      messages: array(ref('AguiMessage')), state: foreign('of the application: comes back in snapshots'), forwardedProps: foreign('acpd: settings of the thread; _meta: traceparent, tracestate, baggage; and what else others want'),
      tools: array(foreign('{name, description, parameters}'), 'of the front end'), context: array(foreign('{description, value}'), 'told to the agent with the next prompt'),
      resume: array(foreign('{interruptId, status, payload?}'), 'answers to all open interrupts'),
    }), additionalProperties: true },
  },
  routes: {
    'POST /v1/agui/{harness}': { id: 'postAgui', says: 'Runs an agent, as AG-UI has it', more: 'Server-sent events of one `data:` line each: events of AG-UI, as `@ag-ui/core` describes them.',
      query: query('daemon/http/endpoints.c:agui_fields', { profile: 'the name of settings that the daemon has' }),
      body: { required: true, content: content('application/json', ref('RunAgentInput')) },
      answers: { 200: { description: 'the events of the run', content: events(ref('AguiEvent')) }, '4XX': json(ref('Error'), 'refused'), '5XX': json(ref('Error'), 'not possible now') } },
  },
};
