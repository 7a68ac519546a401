// SPDX-License-Identifier: Apache-2.0
// The names of members, as the description of the API has them (daemon/api/openapi.json). Of none is it taken for granted that it is
// there, or of its type: what a daemon says is read with care.

import type { components } from '../../../acpd-api.d.ts';
import type { Json } from '../model/event.ts';

type Schemas = components['schemas'];

export type Said<T> = { [K in keyof T]?: Json };
export type Described<N extends keyof Schemas> = Said<Schemas[N]>;
export type DescribedServer = Said<Schemas['McpState'][number]>;
