// SPDX-License-Identifier: Apache-2.0
// Methods of ACP itself: what of ours they carry.
import { array, boolean, foreign, integer, object, ref, string } from '../notation.mjs';

const opens = (says, meta) => ({ says, meta: ref(meta), resultMeta: ref('SessionAnswer') });
const plain = (says) => ({ says });

export default {
  page: 'sessions',
  types: {
    AgentMeta: object({
      version: string(), incarnation: string(), 'sandboxId?': string(), harness: string('the harness of sessions that name none'), 'workspaces?': string('where workspaces are made'), harnesses: array(string()),
      harnessesNotInstalled: array(string()), 'token?': ref('OwnToken'), features: ref('Features'), limits: ref('Limits'),
    }, 'agentCapabilities._meta.acpd'),
    ClientMeta: object({
      'model?': object({ apis: array(string()), 'only?': boolean('it makes model calls and does nothing else') }), 'deduplicatesToolCalls?': boolean(),
    }, 'clientCapabilities._meta.acpd', { additionalProperties: true }),
    UpdateMeta: object({ seq: integer('the number of the event'), 'turn?': integer(), 'clientRequestId?': string('requestId in _meta of the prompt'), 'attempt?': ref('Attempt'), 'unmasked?': foreign() }, '_meta.acpd of an update'),
    PromptMeta: object({ seq: integer(), 'turn?': integer(), 'clientRequestId?': string('requestId in _meta of the prompt'), 'stopDetail?': ref('StopDetail'), 'unmeasured?': ref('Unmeasured'), 'checks?': ref('Checked'), 'attempt?': ref('Attempt'), 'attempts?': array(object({ turn: integer(), 'usage?': foreign('as ACP has it') }), 'what each attempt at the prompt used'), 'billingRef?': string('at the end of a turn'), 'configVersion?': string('at the end of a turn'), 'sandboxId?': string('at the end of a turn'), 'promptUsage?': foreign('of all of them, as ACP has it') }, '_meta.acpd of the answer to a prompt'),
    ErrorData: object({
      reason: string('daemon/protocol/errors.md'), 'field?': string(), 'scope?': string('SCOPE_REQUIRED: what a token needs for it'), 'sessionId?': string(), 'turn?': ref('TurnError'), 'known?': array(string()), 'by?': string(), 'via?': string(), 'rule?': string(), 'names?': array(string()),
      'checks?': ref('Checked'), 'attempt?': ref('Attempt'), 'conflicts?': array(string()), 'conflictsTotal?': integer(), 'refused?': foreign('what acpd-unpack has refused'),
    }, 'data of an error', { additionalProperties: true }),
  },
  methods: {
    initialize: plain('Begins; clientCapabilities._meta.acpd is ClientMeta, agentCapabilities._meta.acpd of the answer AgentMeta'),
    authenticate: plain('For harnesses that need it'),
    'session/new': opens('Makes a session', 'NewSession'),
    'session/load': opens('Takes up a session, with its history', 'LoadSession'),
    'session/resume': opens('Takes up a session, without its history', 'LoadSession'),
    'session/fork': opens('Makes a session that goes on where another one is', 'ForkSession'),
    'session/list': plain('Lists sessions'),
    'session/close': plain('Ends the harness of a session'),
    'session/delete': plain('Removes a session'),
    'session/prompt': { says: 'A prompt', meta: ref('PromptSettings'), resultMeta: ref('PromptMeta') },
    '_session/steering': plain('Tells a running turn something more'),
    'session/cancel': plain('Cancels the running turn'),
    'session/set_mode': plain('Chooses a mode'),
    'session/set_model': plain('Chooses a model'),
    'session/set_config_option': plain('Chooses a value of an option'),
    '$/cancel_request': plain('Cancels a request'),
    'mcp/message': plain('A message of MCP from a server of the client'),
    'providers/list': plain('The provider of the connection'),
    'providers/set': { says: 'Gives the connection a provider', resultMeta: object({ kept: array(string(), 'sessions that could not follow') }) },
    'providers/disable': plain('Takes it away'),
  },
  sent: {
    'session/update': { says: 'What happens in a session', meta: ref('UpdateMeta') },
    'session/request_permission': { says: 'A question to the driver' },
    'mcp/message': { says: 'A message of MCP to a server of the client', meta: object({ reissued: { const: true } }) },
  },
};
