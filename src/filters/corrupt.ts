import { headerValue, mediaType } from '../http/headers.ts'
import { oneOf, section } from './lib/config-schema.ts'
import { DAMAGE, type DamageMode } from './lib/damage.ts'
import { damagedBody, withType } from './lib/damaged-body.ts'
import { withEventData } from './lib/stream/event-data.ts'
import { defineFault } from './fault.ts'
import type { Fault, FaultContext, Frame, Output } from './fault.ts'
import { changingLast } from './lib/json/json-part.ts'
import { NOTHING } from './lib/outlook.ts'
import { headerProblem } from '../http/header-text.ts'
import * as Type from 'typebox'

const HTML = 'text/html; charset=utf-8'

/** A response that arrives and cannot be read, or reads wrong. */
export const corrupt = defineFault({
  name: 'corrupt',
  summary: 'damages what a response says',
  schema: section({
    mode: oneOf(['garbage', 'bitflip', 'invalid-utf8', 'html', 'empty'], {
      default: 'garbage',
      description:
        "`garbage`: characters that mean nothing. `bitflip`: one to eight bits the other way round; it may still be JSON. `invalid-utf8`: bytes that are no UTF-8 within the response's longest text. `html`: the error page of a gateway, under the status of the upstream. `empty`: nothing.",
    }),
    contentType: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'The content type that the response claims. Without it, that of the upstream; with `mode: html` and a response that is one body, `text/html`.',
        examples: ['text/plain'],
      }),
    ),
  }),
  meets:
    'A response of status 200 that cannot be read. For one JSON body, the SDKs report a parse error, or an unexpected content type. Of a stream, the event with the response is damaged and all others are intact: the TypeScript SDK skips an event that it cannot read and waits for its timeout, the Python SDK reports -32700. A flipped bit may pass unseen, as another number or another word.',
  elsewhere:
    'toxiproxy and Envoy have no such fault. Chaos Mesh: `corrupt` for packets, and `replace.body` for HTTP responses.',
  example: `- name: gateway-page
  match: { tool: search }
  percent: 2
  faults:
    - corrupt: { mode: html }`,
  check({ contentType }) {
    const message =
      contentType === undefined ? undefined : headerProblem('content-type', contentType)
    return message === undefined ? [] : [{ path: ['contentType'], message }]
  },
  outlook({ contentType }, { response, ends }) {
    if (response === 'body') return { by: 'output', does: 'its body is damaged' }
    if (ends) return { by: 'response', does: 'the event with the response is damaged' }
    return contentType === undefined ? NOTHING : { by: 'output', does: `claims ${contentType}` }
  },
  create(config): Fault {
    return {
      changes: true,
      ...changingLast((ctx, frame) => event(ctx, frame, config.mode)),
      onOutput: (ctx, output) => body(ctx, output, config),
    }
  },
})

interface CorruptConfig {
  readonly mode: DamageMode
  readonly contentType?: string
}

/** The event with the response: a stream goes on behind it, and so its framing must hold. */
function event(ctx: FaultContext, frame: Frame, mode: DamageMode): Frame | undefined {
  if (frame.kind !== 'event') return undefined
  const raw = withEventData(frame.raw, (data) => DAMAGE[mode](data, ctx.random))
  if (raw === undefined) return undefined
  ctx.injected()
  return { ...frame, raw, message: undefined }
}

function body(
  ctx: FaultContext,
  output: Output,
  { mode, contentType }: CorruptConfig,
): Output | Promise<Output> {
  const { head } = output
  const type = mediaType(headerValue(head.headers, 'content-type'))
  if (type !== 'text/event-stream') {
    return damagedBody(ctx, output, mode, contentType ?? (mode === 'html' ? HTML : undefined))
  }
  if (contentType === undefined) return output
  ctx.injected()
  return { ...output, head: { ...head, headers: withType(head.headers, contentType) } }
}
