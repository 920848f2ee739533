import { duration, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault, type Fault, type Verdict } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import * as Type from 'typebox'

/** Copies may take no longer than this: they outlive the call that they are copies of. */
const MAX_TOTAL_MS = 3_600_000

/** The same call again and again, as from a client that does not stop retrying. */
export const amplify = defineFault({
  name: 'amplify',
  title: 'duplicate calls to the server',
  summary: 'sends copies of a call to the upstream',
  clientSees:
    'Clients receive only the response to the original call; Squall drops the responses to copies. The upstream executes each copy under its own ID, so a tool that is not idempotent takes effect several times. In a session, before the first copy, Squall waits up to 100 ms for the upstream to begin its response, and then for `spacing`. It sends no copies after the session ends with DELETE or status 404. Squall skips calls over HTTP+SSE and stdio, because responses to their copies would reach the client.',
  otherTools:
    'Envoy and Istio can mirror a route to its own cluster; in Istio, set `mirrors` with a `percentage`. toxiproxy and Chaos Mesh cannot copy requests: `NetworkChaos` with `duplicate` copies packets, but TCP discards the copies.',
  example: `- name: retry-storm
  match: { tool: create_ticket }
  percent: 5
  faults:
    - amplify: { copies: 3, spacing: 200ms }`,
  schema: section({
    copies: Type.Integer({
      default: 2,
      minimum: 1,
      maximum: 100,
      description: 'Sends this many copies in addition to the call.',
    }),
    spacing: duration({ default: '0ms', description: 'Waits this long before each copy.' }),
  }),
  check({ copies, spacing }) {
    if (copies * spacing <= MAX_TOTAL_MS) return []
    return [{ path: ['spacing'], message: '`copies` × `spacing` must be at most 1h' }]
  },
  outlook({ copies }, { call }) {
    const does = `the upstream receives ${copies} copies`
    return call === undefined ? NOTHING : { by: 'request', asks: 'copies', does }
  },
  create({ copies, spacing }): Fault {
    return {
      onRequest(ctx): Verdict {
        if (ctx.call === undefined) return CONTINUE
        ctx.injected()
        return { kind: 'copies', copies, spacing }
      },
    }
  },
})
