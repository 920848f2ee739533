import { headerValue, mediaType } from '../http/headers.ts'
import { oneOf, section } from './lib/config-schema.ts'
import { DAMAGE, type DamageMode } from './lib/damage.ts'
import { damagedBody, withType } from './lib/damaged-body.ts'
import { withEventData } from './lib/stream/event-data.ts'
import { defineFault, type Fault, type FaultContext, type Frame, type Output } from './fault.ts'
import { changingLast } from './lib/json/json-part.ts'
import { NOTHING } from './lib/outlook.ts'
import { headerProblem } from '../http/header-text.ts'
import * as Type from 'typebox'

const HTML = 'text/html; charset=utf-8'

/** A response that arrives and cannot be read, or reads wrong. */
export const corrupt = defineFault({
  name: 'corrupt',
  title: 'damage response content',
  summary: 'damages the content of a response',
  schema: section({
    mode: oneOf(['garbage', 'bitflip', 'invalid-utf8', 'html', 'empty'], {
      default: 'garbage',
      description:
        "`garbage`: sends random characters. `bitflip`: flips one to eight bits. `invalid-utf8`: puts invalid UTF-8 into the longest text. `html`: sends a gateway's HTML error page with the upstream's status. `empty`: sends no content.",
    }),
    contentType: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          "Sets the `Content-Type` of the response. Default: the upstream's value; with `mode: html`, `text/html` unless the response is a stream.",
        examples: ['text/plain'],
      }),
    ),
  }),
  clientSees:
    'Clients receive a response that they cannot parse, with the status that the upstream sent. For a JSON body, SDKs report a parse error or an unexpected content type. In a stream, only the event with the response is damaged: the TypeScript SDK skips it and waits until the request times out, and the Python SDK reports -32700 (with `mode: empty`, -32000 or a timeout). Flipped bits and invalid UTF-8 can go unnoticed: a flipped bit may change only a digit or a letter, and the TypeScript SDKs and, in streams, the Python SDK replace invalid UTF-8 with U+FFFD.',
  otherTools:
    'Chaos Mesh has `corrupt` for packets, and `replace.body` for HTTP responses. toxiproxy and Envoy have no equivalent.',
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

type CorruptConfig = Parameters<typeof corrupt.create>[0]

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
