import { duration, section } from './lib/config-schema.ts'
import { CONTINUE, defineFault, type Fault, type Verdict } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import * as Type from 'typebox'

/** Copies may take no longer than this: they outlive the call that they are copies of. */
const MAX_TOTAL_MS = 3_600_000

/** The same call again and again, as from a client that does not stop retrying. */
export const amplify = defineFault({
  name: 'amplify',
  summary: 'sends the upstream further copies of a call',
  meets:
    'One response, as if nothing had happened. The upstream gets the call once more for each copy, with another id, and its responses to the copies are dropped: a tool that is not idempotent acts several times. In a session, the first copy leaves when the upstream begins to respond, or after 100 ms; none leaves once the session has ended, by a DELETE of the client or with a 404. Calls by HTTP+SSE are left alone, as the responses to their copies would reach the client.',
  elsewhere:
    "Envoy and Istio: `mirrors` (`mirrorPercentage`) of a route to the route's own cluster. toxiproxy and Chaos Mesh copy no requests; Chaos Mesh `NetworkChaos` with `duplicate` copies packets, which TCP throws away.",
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
      description: 'How many more times the upstream gets the call.',
    }),
    spacing: duration({
      default: '0ms',
      description: 'How long each copy comes after the one before it.',
    }),
  }),
  check({ copies, spacing }) {
    if (copies * spacing <= MAX_TOTAL_MS) return []
    return [{ path: ['spacing'], message: 'all copies together may take 1h' }]
  },
  outlook({ copies }, { call }) {
    const does = `the upstream gets ${copies} more of it`
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
