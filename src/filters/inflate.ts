import { asBuffer } from '../base/bytes.ts'
import { type TextEdit, editEntries } from '../base/json/json-edit.ts'
import { type JsonNode, type JsonString, valueOf } from '../base/json/json-node.ts'
import { readJson } from '../base/json/json-text.ts'
import { sizeText } from '../base/units.ts'
import { section, size } from './lib/config-schema.ts'
import { changingLast, contentOf, editResult, textsOf } from './lib/json/json-part.ts'
import { frameText, offsetIn } from './lib/json/frame-json.ts'
import { type Fault, type FaultContext, type Frame, defineFault } from './fault.ts'
import { NOTHING } from './lib/outlook.ts'
import { mayHaveText } from './lib/text-outlook.ts'
import * as Type from 'typebox'

const MAX_TO = 16 * 1024 * 1024
/**
 * The filler is copied in pieces of about this size; other calls have a turn after each `SLICE`.
 */
const PIECE = 64 * 1024
const SLICE = 1024 * 1024

/** The filler of a result that has no text to repeat. */
const PLAIN = 'This line is filler. It says nothing.'

/** Adds far more text than the tool wrote, to show how an agent copes with a full context. */
export const inflate = defineFault({
  name: 'inflate',
  title: 'return oversized results',
  summary: 'pads the text of a result to a given size',
  schema: section({
    to: size({
      default: '512KiB',
      description:
        'Pads the last text until the texts of the result have this total size in UTF-8, from 1 byte to 16 MiB. Results that are already larger are unchanged.',
      examples: ['2MiB'],
    }),
    with: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 16_384,
        description:
          'Repeats this text as padding. Default: lines of the result, in a random order derived from the seed.',
        examples: ['All work and no play. '],
      }),
    ),
  }),
  clientSees:
    'Clients receive a valid result whose text has the given size, even if the original tool result had no text. Squall appends the padding to the last text, so JSON in that text becomes invalid. Structured content is unchanged. The Python client fails with error -32000 if an event of a stream exceeds 1 MiB. Squall leaves the result unchanged (counted as `not_applicable`) if the padding would push the total size of all in-flight messages above `--max-memory`, or if the padded result exceeds `--max-body` on a shared stream. If the padded result exceeds `--max-body`, later faults on the same call do not act on it if they parse results.',
  otherTools: 'Other fault injectors have no equivalent, because they do not read results.',
  example: `- name: context-blow-up
  match: { tool: fetch_page }
  percent: 5
  faults:
    - inflate: { to: 2MiB }`,
  check({ to }) {
    if (to >= 1 && to <= MAX_TO) return []
    return [{ path: ['to'], message: `must be from 1B to ${sizeText(MAX_TO)}` }]
  },
  outlook({ to }, { call }) {
    if (!mayHaveText(call)) return NOTHING
    const needs = 'a result with less text, or with content'
    return { by: 'response', does: `the text of its result grows to ${sizeText(to)}`, needs }
  },
  create({ to, with: unit }): Fault {
    return { changes: true, ...changingLast((ctx, frame) => grown(ctx, frame, to, unit)) }
  },
})

/**
 * Returns the frame with its last text grown; undefined where that is not needed, or impossible.
 */
async function grown(
  ctx: FaultContext,
  before: Frame,
  to: number,
  unit: string | undefined,
): Promise<Frame | undefined> {
  const hasText = textsIn(before).length > 0
  const frame = hasText ? before : editResult(before, (_, result) => emptyText(result))
  const texts = frame === undefined ? [] : textsIn(frame)
  const missing = to - texts.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0)
  if (frame === undefined || missing <= 0) return undefined
  const filler = fillerOf(unit ?? linesOf(texts, ctx.random), missing)
  const length = frame.raw.length + filler.piece.length * filler.count + filler.rest.length
  const reason = ctx.reserve(length)
  if (reason !== undefined) {
    ctx.cannot(reason)
    return undefined
  }
  ctx.injected(sizeText(to))
  const at = offsetIn(frame, texts.at(-1)!.end - 1)
  // The message keeps the short text: later stages read its kind, its id and its flags.
  return { ...frame, raw: await filled(ctx, asBuffer(frame.raw), at, filler, length) }
}

function textsIn(frame: Frame): readonly JsonString[] {
  const { message } = frame
  const text = message === undefined || message.kind === 'error' ? undefined : frameText(frame)
  const result = text === undefined ? undefined : contentOf(readJson(text))
  return result === undefined ? [] : textsOf(result)
}

/** Returns the edits that give a tool result without text an empty one. */
function emptyText(result: JsonNode): readonly TextEdit[] {
  const content = valueOf(result, 'content')
  if (content?.kind !== 'array') return []
  return editEntries(content, { adds: [JSON.stringify({ type: 'text', text: '' })] })
}

/** Returns lines of the texts in random order, as long as a piece. */
function linesOf(texts: readonly JsonString[], random: () => number): string {
  const own = texts.flatMap(({ value }) => value.slice(0, PIECE).split(/[\r\n]+/))
  const lines = own.filter((line) => line.trim() !== '')
  let all = ''
  while (all.length < PIECE) all += `\n${lines[Math.floor(random() * lines.length)] ?? PLAIN}`
  return all
}

/** Text as it is written within a JSON string: `count` times the piece, and the rest. */
interface Filler {
  readonly piece: Buffer
  readonly count: number
  readonly rest: Buffer
}

/** Returns a repeated text of a size, cut between characters and padded with spaces. */
function fillerOf(unit: string, total: number): Filler {
  const bytes = Buffer.from(unit.repeat(Math.ceil(PIECE / unit.length)))
  const left = total % bytes.length
  const rest = new TextDecoder().decode(bytes.subarray(0, left), { stream: true })
  return {
    piece: inString(bytes.toString()),
    count: Math.floor(total / bytes.length),
    rest: inString(rest + ' '.repeat(left - Buffer.byteLength(rest))),
  }
}

function inString(text: string): Buffer {
  return Buffer.from(JSON.stringify(text).slice(1, -1))
}

/** Puts the filler into the bytes at an offset. */
async function filled(
  ctx: FaultContext,
  raw: Buffer,
  at: number,
  { piece, count, rest }: Filler,
  length: number,
): Promise<Buffer> {
  const all = Buffer.allocUnsafe(length)
  let end = raw.copy(all, 0, 0, at)
  let turned = end
  for (let i = 0; i < count; i++) {
    end += piece.copy(all, end)
    if (end - turned < SLICE) continue
    turned = end
    await ctx.nextLoop()
  }
  end += rest.copy(all, end)
  raw.copy(all, end, at)
  return all
}
