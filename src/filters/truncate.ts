import { oneOf, percentage, section, size } from './lib/config-schema.ts'
import { type CutOffset, cutOutput } from './lib/cut-output.ts'
import { changingLast, editResult } from './lib/json/json-part.ts'
import { exclusive } from './lib/exclusive.ts'
import { type Fault, type ParameterProblem, defineFault } from './fault.ts'
import { cutOutlook } from './lib/offset-outlook.ts'
import { NOTHING } from './lib/outlook.ts'
import { mayHaveItems, mayHaveText } from './lib/text-outlook.ts'
import { shorten } from './lib/json/shorten.ts'
import * as Type from 'typebox'

const HALF: CutOffset = { percent: 50 }

/** Less than the upstream sent: a cut body, or a valid response that silently holds less. */
export const truncate = defineFault({
  name: 'truncate',
  summary: 'cuts a response short',
  schema: section({
    after: Type.Optional(
      section(
        {
          bytes: Type.Optional(
            size({ description: 'This many bytes of the body, as it goes over the wire.' }),
          ),
          percent: Type.Optional(
            percentage({
              description:
                'This share of the body; of a stream, this share of the event with the response.',
            }),
          ),
          events: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 1_000_000,
              description:
                'This many events of a stream; comments do not count. Other responses are left alone.',
            }),
          ),
        },
        {
          description:
            'Where the response is cut: one of the three. Without `after` and `content`, at half of it.',
          examples: [{ percent: 50 }, { bytes: '1KiB' }, { events: 1 }],
        },
      ),
    ),
    framing: oneOf(['broken', 'clean'], {
      default: 'broken',
      description:
        '`broken`: the announced length stays, and the connection is closed at the cut. `clean`: the response ends in order, with cut JSON in it; a body that is compressed is left alone.',
    }),
    content: Type.Optional(
      section(
        {
          chars: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 100_000_000,
              description:
                'Each text keeps this many characters. Of JSON, each string value in it does, and it stays JSON.',
            }),
          ),
          items: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 100_000_000,
              description:
                'Each list keeps this many items: the content itself, and all lists in structured content and in JSON texts.',
            }),
          ),
          percent: Type.Optional(
            percentage({
              description:
                'Each list keeps this share of its items, rounded up; where that leaves the content itself as it is, its plain texts keep this share of their characters.',
            }),
          ),
        },
        {
          description:
            'Instead of a cut: a response that is valid JSON-RPC, with less in it and nothing that says so. Structured content and the same JSON in a text lose the same.',
          examples: [{ items: 3 }, { percent: '50%' }, { chars: 200 }],
        },
      ),
    ),
  }),
  meets:
    'With `broken`, a connection that ends before the announced length: the TypeScript SDKs report `terminated`, the Python client as a whole fails. With `clean`, JSON that cannot be parsed. A stream that ends before its response leaves the TypeScript SDKs waiting for their timeout. With `content`, a result in order that holds less than the upstream sent: the partial response that an agent takes for whole. A cut by `after` leaves batches alone, and what is answered by the stream of HTTP+SSE; `content` does not.',
  elsewhere: 'toxiproxy: `limit_data` is `after: { bytes: 1KiB }`.',
  example: `- name: half-a-list
  match: { tool: list_orders }
  percent: 10
  faults:
    - truncate: { content: { items: 3 } }`,
  check(config) {
    const problems: ParameterProblem[] = []
    const { after, content } = config
    for (const [key, given, keys] of [
      ['after', after, ['bytes', 'percent', 'events']],
      ['content', content, ['chars', 'items', 'percent']],
    ] as const) {
      if (given === undefined) continue
      for (const { path, message } of exclusive({ ...given }, keys)) {
        problems.push({ path: [key, ...path], message })
      }
    }
    if (after !== undefined && content !== undefined) {
      problems.push({ path: ['content'], message: 'only one of `after`, `content` can be given' })
    }
    if (content !== undefined && config.framing === 'clean') {
      problems.push({ path: ['framing'], message: '`framing` goes with `after` only' })
    }
    return problems
  },
  outlook({ after, framing, content }, setting) {
    if (content !== undefined) {
      const hasItems = content.chars === undefined && mayHaveItems(setting.call)
      if (!hasItems && !mayHaveText(setting.call)) return NOTHING
      const needs = 'longer texts or lists in the result'
      return { by: 'response', does: 'its result holds less', needs }
    }
    const ends = framing === 'broken' ? 'its connection ends' : 'its response ends, in order,'
    return cutOutlook(after ?? HALF, setting, `${ends} before the response is whole`)
  },
  create({ after, framing, content }): Fault {
    if (content === undefined) {
      return {
        changes: true,
        onOutput: (ctx, output) => cutOutput(ctx, output, after ?? HALF, framing),
      }
    }
    return {
      changes: true,
      ...changingLast((ctx, frame) => {
        const less = editResult(frame, (text, result) => shorten(text, result, content))
        if (less !== undefined) ctx.injected()
        return less
      }),
    }
  },
})
