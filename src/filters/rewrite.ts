import { parsePointer } from '../base/json/json-pointer.ts'
import type { TextEdit } from '../base/json/json-edit.ts'
import { type JsonNode, find, itemsOf, valueOf } from '../base/json/json-node.ts'
import { readJson } from '../base/json/json-text.ts'
import {
  changingLast,
  contentOf,
  editResult,
  plainPart,
  resultParts,
  structuredPart,
  textsOf,
} from './lib/json/json-part.ts'
import { CONTINUE, type Fault, type FaultContext, type Verdict, defineFault } from './fault.ts'
import { frameText, withText } from './lib/json/frame-json.ts'
import type { JsonOperation } from './lib/json/json-operation.ts'
import { namePicker } from './lib/names.ts'
import { rewriteOutlook } from './lib/json/rewrite-outlook.ts'
import { type RewriteConfig, rewriteProblems, rewriteSchema } from './lib/json/rewrite-schema.ts'
import { type FindParts, type Rewritten, TextRewrite, doneText } from './lib/json/rewrite-text.ts'

/** The most characters that `text` adds to one result. */
const MAX_GROWTH = 1024 * 1024

/** Another shape of results, arguments or the catalog of tools than the upstream gave. */
export const rewrite = defineFault({
  name: 'rewrite',
  title: 'change the JSON of results and arguments',
  summary: 'changes JSON in results, arguments, tool schemas or whole messages',
  schema: rewriteSchema,
  clientSees:
    'Clients receive a valid response with a different shape or, with `in: arguments`, the response to different arguments. TypeScript clients that have listed the tools validate structured content against the output schema of the tool, and fail the call with -32602. The Python client always validates it, and fails with its own error. Other clients pass the change on to the agent. The rest of the response is byte-identical, including whitespace and key order.',
  otherTools:
    'Chaos Mesh has `HTTPChaos` with `patch: { body: … }`, which merges a patch into the whole JSON body. `rewrite` changes individual members in place, even in JSON inside text content.',
  example: `- name: drifted-weather
  match: { tool: get_weather }
  percent: 20
  faults:
    - rewrite: { rename: { /temperature: temp_c }, retype: { /humidity: string } }`,
  check: rewriteProblems,
  outlook: rewriteOutlook,
  create(config): Fault {
    const operations = operationsOf(config)
    // Without any named change, there is one random change.
    const { text: texts, in: where } = config
    const drift = config.drift ?? (operations.length === 0 && texts === undefined ? 1 : 0)
    const isOfParams = ({ keys }: JsonOperation): boolean => keys[0] === 'params'
    const ofRequest = where === 'message' ? operations.filter(isOfParams) : operations
    const ofResponse =
      where === 'message' ? operations.filter((each) => !isOfParams(each)) : operations
    const rewritten = async (
      ctx: FaultContext,
      text: string,
      parts: FindParts,
      named: readonly JsonOperation[],
    ): Promise<Rewritten | undefined> => {
      const work = new TextRewrite(text, parts, ctx.nextLoop)
      for (const operation of named) await work.apply(operation)
      await work.drift(drift, ctx.random)
      return work.result
    }
    const requestParts = where === 'arguments' ? argumentsIn : wholeOf
    const asks = where === 'arguments' || (where === 'message' && ofRequest.length > 0)
    const edited = (ctx: FaultContext, text: string): Promise<Rewritten | undefined> =>
      rewritten(ctx, text, requestParts, ofRequest)
    const onRequest = (ctx: FaultContext): Promise<Verdict> =>
      editing(ctx, requestParts, edited, config.headers === 'keep')
    if (where === 'arguments' || (ofResponse.length + drift === 0 && texts === undefined)) {
      return { changes: true, onRequest }
    }
    const parts = partsOfResponse(config)
    return {
      changes: true,
      ...(asks && { onRequest }),
      ...changingLast(async (ctx, frame) => {
        const { kind } = frame.message ?? {}
        const isMeant = kind === 'result' || (kind === 'error' && where === 'message')
        const text = isMeant ? frameText(frame) : undefined
        const after = text === undefined ? undefined : await rewritten(ctx, text, parts, ofResponse)
        const named = after === undefined ? undefined : withText(frame, after.text)
        const all = texts && editResult(named ?? frame, (_, result) => textEdits(result, texts))
        const effects = [after && doneText(after.done), all && 'text']
        if (named ?? all) ctx.injected(effects.filter((each) => each !== undefined).join(', '))
        return all ?? named
      }),
    }
  },
})

/** In the order in which they are done. */
function operationsOf(config: RewriteConfig): readonly JsonOperation[] {
  const {
    rename = {},
    remove = [],
    set = {},
    add = {},
    retype = {},
    nullify = [],
    wrap = {},
  } = config
  const keys = (pointer: string): readonly string[] => parsePointer(pointer) ?? []
  const of = <T>(
    record: Readonly<Record<string, T>>,
    make: (value: T) => Change,
  ): JsonOperation[] =>
    Object.entries(record).map(([pointer, value]) => ({ keys: keys(pointer), ...make(value) }))
  const each = (list: string | readonly string[], kind: 'remove' | 'nullify'): JsonOperation[] =>
    [list].flat().map((pointer) => ({ keys: keys(pointer), kind }))
  return [
    ...of(rename, (to) => ({ kind: 'rename', to: to.startsWith('/') ? keys(to).at(-1)! : to })),
    // From the last item of a list on, so that the positions of the others stay.
    ...each([...new Set([remove].flat())].sort(backwards), 'remove'),
    ...of(set, (value) => ({ kind: 'set', json: JSON.stringify(value) })),
    ...of(add, (value) => ({ kind: 'add', json: JSON.stringify(value) })),
    ...of(retype, (type) => ({ kind: 'retype', type })),
    ...each(nullify, 'nullify'),
    ...of(wrap, (key) => ({ kind: 'wrap', key })),
  ]
}

function backwards(a: string, b: string): number {
  return b.localeCompare(a, 'en', { numeric: true })
}

type Change = JsonOperation extends infer Each
  ? Each extends JsonOperation
    ? Omit<Each, 'keys'>
    : never
  : never

/**
 * Returns the edits that change the texts of a result, as far as it does not grow by more than
 * allowed.
 */
function textEdits(
  result: JsonNode,
  { prepend = '', append = '', replace = {} }: NonNullable<RewriteConfig['text']>,
): readonly TextEdit[] {
  let left = MAX_GROWTH
  return textsOf(result).flatMap(({ value, start, end }) => {
    let text = value
    for (const [from, to] of Object.entries(replace)) {
      const pieces = text.split(from)
      if ((pieces.length - 1) * (to.length - from.length) > left) return []
      text = pieces.join(to)
    }
    text = prepend + text + append
    left -= Math.max(0, text.length - value.length)
    return text === value || left < 0 ? [] : [{ start, end, text: JSON.stringify(text) }]
  })
}

function partsOfResponse({ in: where, consistent, tools }: RewriteConfig): FindParts {
  if (where === 'result') {
    return (text) => {
      const result = contentOf(readJson(text))
      if (result === undefined) return []
      return consistent ? resultParts(text, result) : structuredPart(text, result)
    }
  }
  if (where === 'message') return wholeOf
  const isMeant = tools === undefined ? () => true : namePicker(tools)
  return (text) =>
    itemsOf(valueOf(valueOf(readJson(text), 'result'), 'tools'))
      .filter((tool) => {
        const name = valueOf(tool, 'name')
        return name?.kind === 'string' && isMeant(name.value)
      })
      .flatMap((tool) => (where === 'tool' ? [tool] : (valueOf(tool, where) ?? [])))
      .map((node) => plainPart(text, node))
}

/** Changes the text of a message before it is sent. */
async function editing(
  ctx: FaultContext,
  parts: FindParts,
  rewritten: (ctx: FaultContext, text: string) => Promise<Rewritten | undefined>,
  keepsHeaders: boolean,
): Promise<Verdict> {
  const { params, kind } = ctx.call ?? {}
  if (kind === 'response') return CONTINUE
  // Tried on a copy first: only what finds something to change is to be counted.
  const tried = await rewritten(ctx, JSON.stringify({ params }))
  if (tried === undefined) return CONTINUE
  ctx.injected(doneText(tried.done))
  return {
    kind: 'edit',
    keepsHeaders,
    edit: async (text) => {
      const work = new TextRewrite(text, parts, ctx.nextLoop)
      for (const operation of tried.done) await work.apply(operation)
      return work.result?.text
    },
  }
}

function argumentsIn(text: string): ReturnType<FindParts> {
  const root = readJson(text)
  if (root === undefined) return []
  return find(root, ['params', 'arguments']).map((node) => plainPart(text, node))
}

function wholeOf(text: string): ReturnType<FindParts> {
  return [readJson(text) ?? []].flat().map((root) => plainPart(text, root))
}
