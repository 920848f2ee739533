import type { Call } from '../mcp/call.ts'
import { duration, section } from './lib/config-schema.ts'
import { eventChoice } from './lib/stream/event-choice.ts'
import { defineFault } from './fault.ts'
import type { Fault, FaultContext, Frames } from './fault.ts'
import { streamOutlook } from './lib/stream/stream-outlook.ts'
import type { WrongId } from './lib/json/message-id.ts'
import { close, drop, duplicate, wrongResponseId } from './lib/stream/stream-damage.ts'
import { overtaken, reorder } from './lib/stream/stream-reorder.ts'
import { split } from './lib/stream/stream-split.ts'
import * as Type from 'typebox'

const DAMAGES = ['drop', 'duplicate', 'reorder', 'wrongId', 'split', 'close'] as const
const PIECES = 3
const PAUSE_MS = 100

/** Damage to the order and number of events; each that arrives is as the upstream sent it. */
export const stream = defineFault({
  name: 'stream',
  summary: 'loses, repeats, reorders or tears events of a stream',
  meets:
    'A response by event stream in which chosen events are missing, come twice, in another order, or in pieces; what arrives is byte for byte what the upstream sent, with `wrongId` but for the id. Without the response, or with a wrong id, the TypeScript SDKs wait until their timeout; the Python SDK reports a closed stream at once and takes a response with a wrong id. A response that comes twice is reported and otherwise without effect. Events in pieces harm only parsers that take a read for an event. Responses in JSON have no events: only `wrongId` acts on them. The stream of HTTP+SSE is shared by all calls: there `close` ends the events of the call and leaves the stream open.',
  elsewhere:
    'toxiproxy: `slicer` tears bytes anywhere, as `split` does with events; `limit_data` ends a connection, as `close` does. Chaos Mesh: `NetworkChaos` with `loss`, `duplicate` and `reorder` is about packets, which TCP fixes before anyone sees it. Envoy and Istio have nothing like it.',
  example: `- name: lost-response
  match: { tool: "search_*" }
  percent: 10
  faults:
    - stream: { drop: last }`,
  schema: section({
    drop: Type.Optional(
      eventChoice({
        description:
          'These events never arrive. `last` is the response itself, `notifications` is progress and logs, `all` is every message, a number counts messages from 1 on.',
        examples: ['last'],
      }),
    ),
    duplicate: Type.Optional(
      eventChoice({ description: 'These events arrive twice.', examples: ['last'] }),
    ),
    reorder: Type.Optional(
      eventChoice({
        description:
          'These events change places with the one behind them; `last` with the one before it, for which every event is held until the next is there.',
        examples: ['last'],
      }),
    ),
    wrongId: Type.Optional(
      Type.Unsafe<WrongId>({
        type: 'string',
        enum: ['other', 'type'],
        description:
          'The response has another id. `other`: one that no call has. `type`: a text of digits in place of a number, or a number in place of such a text. Acts on JSON responses as well.',
      }),
    ),
    split: Type.Optional(
      eventChoice({ description: 'These events arrive in pieces.', examples: ['all'] }),
    ),
    pieces: Type.Optional(
      Type.Integer({
        minimum: 2,
        maximum: 1000,
        description: `With \`split\`: in how many. ${PIECES} unless given.`,
      }),
    ),
    pause: Type.Optional(
      duration({
        description: `With \`split\`: how long between two pieces. ${PAUSE_MS}ms unless given.`,
        examples: ['100ms'],
      }),
    ),
    close: Type.Optional(
      eventChoice({
        description:
          'The stream ends, in good order, before the first of these events. A client that resumes it gets the rest there.',
        examples: ['last'],
      }),
    ),
  }),
  oneOf: DAMAGES,
  goesWith: { pieces: 'split', pause: 'split' },
  outlook: streamOutlook,
  create(config): Fault {
    const { pieces = PIECES, pause = PAUSE_MS } = config
    if (config.split !== undefined) {
      const how = { events: config.split, pieces, pause }
      return { onOutput: (ctx, output) => split(how, ctx, output) }
    }
    const closed = new WeakSet<Call>()
    const { reorder: late } = config
    const isMeant = late !== undefined && (typeof late !== 'number' || late === 1)
    if (isMeant) {
      return {
        changes: true,
        onMessage: overtaken,
        onResponse: (ctx, frames) => reorder(late, ctx, frames),
      }
    }
    return { changes: true, onResponse: (ctx, frames) => damage(config, ctx, frames, closed) }
  },
})

type StreamConfig = Parameters<typeof stream.create>[0]

function damage(
  config: StreamConfig,
  ctx: FaultContext,
  frames: Frames,
  closed: WeakSet<Call>,
): Frames {
  if (config.drop !== undefined) return drop(config.drop, ctx, frames)
  if (config.duplicate !== undefined) return duplicate(config.duplicate, ctx, frames)
  if (config.reorder !== undefined) return reorder(config.reorder, ctx, frames)
  if (config.wrongId !== undefined) return wrongResponseId(config.wrongId, ctx, frames)
  return close(config.close ?? 'last', ctx, closed, frames)
}
