import type { Call } from '../mcp/call.ts'
import { duration, section } from './lib/config-schema.ts'
import { eventChoice } from './lib/stream/event-choice.ts'
import { defineFault } from './fault.ts'
import type { Fault, FaultContext, Frames } from './fault.ts'
import { streamOutlook } from './lib/stream/stream-outlook.ts'
import { changingLast } from './lib/json/json-part.ts'
import type { WrongId } from './lib/json/message-id.ts'
import { close, drop, duplicate, withWrongId } from './lib/stream/stream-damage.ts'
import { overtaken, reorder } from './lib/stream/stream-reorder.ts'
import { split } from './lib/stream/stream-split.ts'
import * as Type from 'typebox'

const DAMAGES = ['drop', 'duplicate', 'reorder', 'wrongId', 'split', 'close'] as const
const PIECES = 3
const PAUSE_MS = 100

/** Damage to the order and number of events; each that arrives is as the upstream sent it. */
export const stream = defineFault({
  name: 'stream',
  title: 'drop, duplicate and reorder SSE events',
  summary: 'drops, duplicates, reorders or splits SSE events',
  clientSees:
    "Clients receive a stream with missing, duplicate, reordered or split events. The bytes of events are unchanged, except for the ID with `wrongId`. Without a response, or with `wrongId: other`, the TypeScript SDKs wait until they time out. The Python SDK immediately reports a stream that closes without event IDs, and accepts any ID in a stream. All SDKs accept the ID of `wrongId: type`. If a response arrives twice, the TypeScript SDKs only report the duplicate. Split events affect only parsers that treat each read as one event. On JSON responses, only `wrongId` acts. For calls over HTTP+SSE and stdio, which share a stream, `split` has no effect, and `close` ends the call's events but leaves the stream open.",
  otherTools:
    'toxiproxy has `slicer`, which splits the byte stream anywhere (`split` splits events), and `limit_data`, which ends a connection like `close`. Chaos Mesh has `NetworkChaos` with `loss`, `duplicate` and `reorder`, but these act on packets, and TCP hides them from clients. Envoy and Istio have no equivalent.',
  example: `- name: lost-response
  match: { tool: "search_*" }
  percent: 10
  faults:
    - stream: { drop: last }`,
  schema: section({
    drop: Type.Optional(
      eventChoice({
        description:
          'Drops these events. `last`: the response event. `notifications`: notifications, such as progress and log messages. `all`: every message. A number: the n-th message.',
        examples: ['last'],
      }),
    ),
    duplicate: Type.Optional(
      eventChoice({
        description:
          'Sends these events twice. Later faults change only the first copy of the response.',
        examples: ['last'],
      }),
    ),
    reorder: Type.Optional(
      eventChoice({
        description:
          'Swaps these events with the next event, in pairs. `last`: swaps the response event with the event before, so each event waits until the next arrives.',
        examples: ['last'],
      }),
    ),
    wrongId: Type.Optional(
      Type.Unsafe<WrongId>({
        type: 'string',
        enum: ['other', 'type'],
        description:
          'Changes the response ID, in streams and JSON bodies. `other`: uses an ID that no call has. `type`: converts a number to a string, and a numeric string to a number; other strings change as with `other`.',
      }),
    ),
    split: Type.Optional(
      eventChoice({ description: 'Sends these events in pieces.', examples: ['all'] }),
    ),
    pieces: Type.Optional(
      Type.Integer({
        minimum: 2,
        maximum: 1000,
        description: `With \`split\`: sets the number of pieces. Default: ${PIECES}.`,
      }),
    ),
    pause: Type.Optional(
      duration({
        description: `With \`split\`: waits this long between two pieces. Default: ${PAUSE_MS}ms.`,
        examples: ['100ms'],
      }),
    ),
    close: Type.Optional(
      eventChoice({
        description:
          'Closes the stream cleanly before the first of these events. A client that resumes the stream receives the rest.',
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
    const { wrongId } = config
    if (wrongId !== undefined) {
      return { changes: true, ...changingLast((ctx, frame) => withWrongId(wrongId, ctx, frame)) }
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
    const onResponse = (ctx: FaultContext, frames: Frames): Frames =>
      damage(config, ctx, frames, closed)
    return config.duplicate === undefined ? { changes: true, onResponse } : { onResponse }
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
  return close(config.close ?? 'last', ctx, closed, frames)
}
