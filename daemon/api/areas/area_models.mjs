// SPDX-License-Identifier: Apache-2.0
// Model calls through the client, the provider and the network of a session.
import { boolean, fields, integer, map, object, ref, string } from '../notation.mjs';

const meta = (members) => object({ _meta: object({ acpd: object(members) }) });

export default {
  page: 'models',
  methods: {
    '_acpd/model/attach': { says: 'This connection makes the model calls of these sessions', params: fields('daemon/acp/client_calls.c:attach_fields', { sessionIds: { items: string() } }), result: object({}) },
    '_acpd/model/head': { says: 'Begins an answer', params: fields('daemon/acp/client_calls.c:head_fields', { callId: 'the call', status: 'of HTTP', headers: { ...map(string(), 'of the answer') } }) },
    '_acpd/model/chunk': { says: 'Goes on with an answer', params: fields('daemon/acp/client_calls.c:chunk_fields', { callId: 'the call', seq: 'from 0', text: 'a piece', b64: 'or its bytes' }) },
    '_acpd/model/credit': { says: 'So much of the request was taken', params: fields('daemon/acp/client_calls.c:credit_fields', { callId: 'the call', bytes: 'how much' }) },
    '_acpd/network/set': { says: 'Changes what a session may call', params: fields('daemon/acp/acp_settings.c:network_fields', { sessionId: 'the session', network: ref('Network') }), result: meta({ network: ref('NetworkAchieved') }) },
    '_acpd/provider/set': { says: 'Changes the provider of a session', params: fields('daemon/acp/acp_settings.c:provider_fields', { sessionId: 'the session', provider: ref('Provider') }), result: meta({ provider: ref('ProviderState') }) },
  },
  sent: {
    '_acpd/model/request': { says: 'A model call that the client is to make', params: object({
      callId: string(), sessionId: string(), 'turn?': integer(), api: string(), method: string(), path: string(), headers: map(string()), 'model?': string(), bodyBytes: integer(), attempt: integer(),
    }), result: object({ complete: boolean('false: the answer was cut'), 'requestId?': string() }) },
    '_acpd/model/body': { says: 'The body of a model call', params: object({ callId: string(), seq: integer(), text: string(), last: boolean() }) },
    '_acpd/model/credit': { says: 'So much of the answer was taken', params: object({ callId: string(), bytes: integer() }) },
  },
};
