// SPDX-License-Identifier: Apache-2.0
// Questions of harnesses, and answers of anybody who is let in.
import { array, content, fields, foreign, integer, json, map, object, query, ref, string, time, word } from '../notation.mjs';

const ANSWER = {
  optionId: 'of a permission: the option', outcome: foreign('of a permission, as ACP has it: {outcome: "cancelled"}, or "selected" with optionId'),
  action: { description: 'of an elicitation', enum: ['accept', 'decline', 'cancel'] }, content: foreign('of an elicitation that is accepted'),
  by: { description: 'who decided: a program, or a human who uses the client', enum: ['client', 'human'], default: 'client' },
};
export default {
  page: 'approvals',
  types: {
    OwnRules: object({ rules: array(object({
      id: string(), policy: word(['allow', 'deny']), made: time(), 'tool?': string(), 'server?': string(), 'kind?': string(), 'commands?': array(string()), 'argv?': array(string()), 'paths?': array(string()),
    })) }),
    Approval: object({
      id: string('SESSION:ASK'), sessionId: string(), 'turn?': integer(), kind: word(['permission', 'elicitation']), 'request?': foreign('what the driver gets, without sessionId'),
      'requestBytes?': integer('its size, where it is left out'), askedAt: time(), 'expiresAt?': time(), 'default?': string('the answer when the time is up'),
    }, 'an open question'),
    Approvals: object({ approvals: array(ref('Approval')), 'nextCursor?': string('brings the rest') }),
    ApprovalAnswer: fields('daemon/http/routes/route_approvals.c:body_fields', ANSWER),
    ApprovalAnswered: object({ id: string(), answer: foreign('as ACP has the result') }),
  },
  routes: {
    'GET /v1/approvals': { id: 'getApprovals', says: 'Open questions, oldest first',
      query: query('daemon/http/routes/route_approvals.c:fields', { session: 'only of this session', cursor: 'nextCursor of the page before' }), answers: { 200: json(ref('Approvals'), 'as of now') } },
    'POST /v1/approvals/{approvalId}': { id: 'postApproval', says: 'Answers a question', body: { required: true, content: content('application/json', ref('ApprovalAnswer')) },
      answers: { 200: json(ref('ApprovalAnswered'), 'this answer counts') } },
  },
  methods: {
    '_acpd/approvals/list': { says: 'Open questions', params: fields('daemon/acp/acp_approvals.c:approvals_fields', { sessionId: 'only of this session', cursor: 'nextCursor of the page before' }), result: ref('Approvals') },
    '_acpd/approvals/answer': { says: 'Answers a question', params: fields('daemon/acp/acp_approvals.c:answer_fields', { sessionId: 'the session', id: 'the question', ...ANSWER }), result: ref('ApprovalAnswered') },
    '_acpd/approvals/rules': { says: 'Rules that people have made of a session', params: fields('daemon/acp/methods.c:session_fields', { sessionId: 'the session' }), result: ref('OwnRules') },
    '_acpd/approvals/forget': { says: 'Takes a rule back', params: fields('daemon/acp/acp_approvals.c:forget_fields', { sessionId: 'the session', id: 'the rule' }), result: ref('OwnRules') },
  },
};
