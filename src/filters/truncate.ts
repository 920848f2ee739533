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
  title: 'cut responses short',
  summary: 'cuts a response short',
  schema: section({
    after: Type.Optional(
      section(
        {
          bytes: Type.Optional(size({ description: 'Keeps this many bytes of the body as sent.' })),
          percent: Type.Optional(
            percentage({
              description:
                'Keeps this percentage of the body or, in a stream, of the response event.',
            }),
          ),
          events: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 1_000_000,
              description:
                'Keeps this many stream events, not counting comments. Other responses are unchanged.',
            }),
          ),
        },
        {
          description:
            'Cuts the response after this part. Default without `content`: half the response.',
          examples: [{ percent: 50 }, { bytes: '1KiB' }, { events: 1 }],
        },
      ),
    ),
    framing: oneOf(['broken', 'clean'], {
      default: 'broken',
      description:
        '`broken`: keeps the declared length and closes the connection at the cut. `clean`: ends the incomplete response cleanly; compressed bodies are unchanged.',
    }),
    content: Type.Optional(
      section(
        {
          chars: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 100_000_000,
              description:
                'Keeps this many characters of each text or, in structured content and JSON texts, of each string value.',
            }),
          ),
          items: Type.Optional(
            Type.Integer({
              minimum: 0,
              maximum: 100_000_000,
              description:
                'Keeps this many items of each list, in the content, in structured content and in JSON texts.',
            }),
          ),
          percent: Type.Optional(
            percentage({
              description:
                "Keeps this share of each list's items, rounded up. If no content item is removed, also shortens plain texts to this share.",
            }),
          ),
        },
        {
          description:
            'Shortens the content but keeps the result valid, so the result looks complete. Shortens structured content and its text copy alike.',
          examples: [{ items: 3 }, { percent: '50%' }, { chars: 200 }],
        },
      ),
    ),
  }),
  clientSees:
    'With `broken`, the connection ends before the declared length of a JSON body: the TypeScript SDKs report `terminated`, and the whole Python client fails. With `clean`, clients receive incomplete JSON. If a stream ends without the response, clients that have received an event ID resume it; otherwise the TypeScript SDKs wait until they time out. With `content`, clients receive a valid result with less data, which looks complete to an agent. On calls in batches, over HTTP+SSE and on stdio, only `content` acts.',
  otherTools: 'toxiproxy has `limit_data`, which acts like `after: { bytes: 1KiB }`.',
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
      problems.push({ path: ['content'], message: 'only one of `after`, `content` is allowed' })
    }
    if (content !== undefined && config.framing === 'clean') {
      problems.push({ path: ['framing'], message: '`framing` requires `after`' })
    }
    return problems
  },
  outlook({ after, framing, content }, setting) {
    if (content !== undefined) {
      const hasItems = content.chars === undefined && mayHaveItems(setting.call)
      if (!hasItems && !mayHaveText(setting.call)) return NOTHING
      const needs = 'longer texts or lists in the result'
      return { by: 'response', does: 'its result is shortened', needs }
    }
    const ends = framing === 'broken' ? 'its connection ends' : 'its response ends, in order,'
    return cutOutlook(after ?? HALF, setting, `${ends} before the response is complete`)
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
