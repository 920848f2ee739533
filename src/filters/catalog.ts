import { isRecord } from '../base/values.ts'
import { editEntries, splice } from '../base/json/json-edit.ts'
import { type JsonNode, memberOf, valueOf } from '../base/json/json-node.ts'
import { readJson } from '../base/json/json-text.ts'
import { cursorEdits, ghost, listEditor, listKey } from './lib/catalog-list.ts'
import { type Audience, type SharedBy, audience } from './lib/audience.ts'
import { DURATION_FORMS, oneOf, section } from './lib/config-schema.ts'
import { editResult } from './lib/json/json-part.ts'
import {
  CONTINUE,
  type Fault,
  type FaultContext,
  type Frame,
  type Verdict,
  defineFault,
} from './fault.ts'
import { NOTHING, type Outlook, type OutlookInput } from './lib/outlook.ts'
import { FirstTexts } from './lib/first-texts.ts'
import { names } from './lib/names.ts'
import { isOther } from '../mcp/call.ts'
import type { Message } from '../mcp/json-rpc.ts'
import * as Type from 'typebox'

const METHOD = /^notifications\/(?:tools|prompts|resources)\/list_changed$/

/** Another list of tools, prompts or resources than the upstream has. */
export const catalog = defineFault({
  name: 'catalog',
  title: 'change the tool list',
  summary: 'changes the list of tools, prompts or resources',
  schema: section({
    hide: Type.Optional(
      names({
        description: 'Hides entries whose names or URIs match these strings or globs.',
        examples: ['*', ['search', 'admin_*']],
      }),
    ),
    add: Type.Optional(
      Type.Array(ghost, {
        minItems: 1,
        maxItems: 100,
        description:
          'Adds these entries, which the upstream does not have, at the end of the first page.',
        examples: [[{ name: 'delete_everything', description: 'Deletes everything.' }]],
      }),
    ),
    duplicate: Type.Optional(
      names({
        description: 'Lists entries twice if their names or URIs match these strings or globs.',
      }),
    ),
    stale: Type.Optional(
      Type.Unsafe<boolean | number>({
        anyOf: [{ type: 'boolean' }, ...DURATION_FORMS],
        description:
          'Returns the first list seen for the same caller and page, indefinitely or up to this age. Skips lists with `Cache-Control: no-store` or `Vary: *`.',
        examples: [true, '10m'],
      }),
    ),
    by: Type.Optional(
      oneOf(['caller', 'all'], {
        description:
          "Sets who receives a `stale` list (default: `caller`). `caller`: only the same, identified caller, as with `replay`. `all`: every caller, which may expose one user's data to another.",
      }),
    ),
    cursor: Type.Optional(
      oneOf(['invalid', 'loop'], {
        description:
          '`invalid`: returns a cursor that is rejected with -32602. `loop`: returns a cursor to the first page, so paging never ends. The rule must also match the request for the next page.',
      }),
    ),
    notify: Type.Optional(
      oneOf(['spurious', 'suppress'], {
        description:
          "Acts only on streams. `spurious`: sends a `list_changed` notification before the response. `suppress`: drops the upstream's `list_changed` notifications that the rule matches, or that precede the response on its own stream.",
      }),
    ),
  }),
  clientSees:
    'Clients receive a valid list that does not match the server. Agents cannot select hidden tools. The upstream rejects calls to added tools as unknown. Duplicate tool names confuse agents or are rejected by models. On `list_changed`, the TypeScript SDK v2 discards its list; with automatic refresh, it requests a new list 300 ms later.',
  otherTools: 'Other tools have no equivalent, because they do not read MCP.',
  example: `- name: cold-catalog
  match: { method: tools/list }
  first: 3
  faults:
    - catalog: { hide: "search_*", add: [{ name: search_v2 }] }`,
  goesWith: { by: 'stale' },
  check(config) {
    const some = Object.values(config).some((value) => value !== undefined)
    const keys = ['hide', 'add', 'duplicate', 'stale', 'cursor', 'notify']
    const list = keys.map((key) => `\`${key}\``).join(', ')
    return some ? [] : [{ path: [], message: `at least one of ${list} is required` }]
  },
  outlook: (config, input): Outlook => catalogOutlook(config, input),
  create(config): Fault {
    const { cursor, notify } = config
    const edit = listEditor(config)
    const age = config.stale === true ? Infinity : Number(config.stale ?? 0)

    const changed = (ctx: FaultContext, frame: Frame): Frame => {
      const key = listKey(ctx.call?.method)
      if (key === undefined) return frame
      const asked = cursorOf(ctx)
      const effects: string[] = []
      const { old, isFirst, cannot } = age === 0 ? NO_FIRST : firstList(ctx, frame, age, config.by)
      if (old !== undefined) effects.push('stale')
      const before = old ?? frame
      const after = editResult(before, (text, result) => {
        const list = edit(text, result, key, asked === undefined || asked === LOOP)
        effects.push(...list.effects)
        if (cursor === undefined) return list.edits
        effects.push(`cursor ${cursor}`)
        return [
          ...list.edits,
          ...cursorEdits(result, cursor === 'invalid' ? INVALID : (asked ?? LOOP)),
        ]
      })
      if (effects.length > 0) ctx.injected(effects.join(', '))
      else if (cannot !== undefined) ctx.cannot(cannot)
      else if (isFirst === true && notify === undefined) ctx.withinLimit()
      return after ?? before
    }

    const onResponse: NonNullable<Fault['onResponse']> = async function* (ctx, frames) {
      for await (const frame of frames) {
        if (notify === 'suppress' && frame.kind === 'event' && isListChanged(frame.message)) {
          ctx.injected('suppress')
          continue
        }
        const out = frame.last ? changed(ctx, frame) : frame
        if (notify === 'spurious' && frame.last && frame.kind === 'event') {
          ctx.injected('spurious')
          yield listChanged(ctx.call?.method)
        }
        yield out
      }
    }
    if (cursor === undefined) return { changes: true, onResponse }
    return { changes: true, onResponse, onRequest: cursor === 'invalid' ? rejectInvalid : leadBack }
  },
})

type CatalogConfig = Parameters<typeof catalog.create>[0]

function catalogOutlook(
  { hide, add, duplicate, stale, by, cursor, notify }: CatalogConfig,
  { call, response, identified, shared }: OutlookInput,
): Outlook {
  const asked = cursorOf({ call })
  const list = { by: 'response', does: 'its list differs from that of the upstream' } as const
  if (listKey(call?.method) !== undefined) {
    if (cursor === 'invalid' && asked === INVALID) {
      return { by: 'request', asks: 'message', does: 'responds with error -32602' }
    }
    if (cursor !== undefined) return { ...list, needs: 'a result' }
    if (add !== undefined && asked === undefined) return { ...list, needs: 'a list in the result' }
    if ((hide ?? duplicate) !== undefined) return { ...list, needs: 'entries with such names' }
    const isKept = stale !== undefined && (by === 'all' || identified)
    if (stale !== undefined && !isKept && (add ?? notify) === undefined) {
      return { cannot: 'no_caller' }
    }
    if (add !== undefined || isKept) {
      return {
        ...list,
        needs: stale === undefined ? 'the first page' : 'an earlier list that differs',
      }
    }
  }
  if (notify === undefined || response === 'body') return NOTHING
  if (notify === 'spurious') return { by: 'response', does: 'notified that a list has changed' }
  const does = 'not notified that a list has changed'
  if (!isOther(call)) {
    return shared ? NOTHING : { by: 'response', any: true, does, needs: 'a notification' }
  }
  return METHOD.test(call?.method ?? '') ? { by: 'response', any: true, does } : NOTHING
}

/** Cursors that the upstream never gave. */
const INVALID = 'squall:no-such-page'
const LOOP = 'squall:first-page'

function cursorOf({ call }: Pick<FaultContext, 'call'>): string | undefined {
  const cursor = isRecord(call?.params) ? call.params['cursor'] : undefined
  return typeof cursor === 'string' ? cursor : undefined
}

/** The list that a caller got first, where the upstream has another one by now. */
interface FirstList {
  readonly old?: Frame | undefined
  /** True when this list is the first, or equals it. */
  readonly isFirst?: boolean
  readonly cannot?: Audience['cannot']
}

const NO_FIRST: FirstList = {}

function firstList(ctx: FaultContext, frame: Frame, age: number, by?: SharedBy): FirstList {
  const { call } = ctx
  const about = [call?.method ?? null, call?.protocolVersion ?? null, cursorOf(ctx) ?? null]
  const { key, cannot } = audience(ctx, by ?? 'caller', about)
  if (key === undefined) return { cannot }
  let isFirst = false
  const old = editResult(frame, (text, { start, end }) => {
    const now = text.slice(start, end)
    const lists = ctx.memory(() => new FirstTexts(age, ctx.cacheBudget))
    const first = lists.firstOr(key, now, ctx.now())
    isFirst = first === undefined || first === now
    return isFirst ? [] : [{ start, end, text: first! }]
  })
  return { old, isFirst }
}

function rejectInvalid(ctx: FaultContext): Verdict {
  if (cursorOf(ctx) !== INVALID || listKey(ctx.call?.method) === undefined) return CONTINUE
  ctx.injected('cursor invalid')
  return { kind: 'respond', reply: { kind: 'rpcError', code: -32602, message: 'Invalid cursor' } }
}

/** The upstream gets the call without the cursor that it does not know. */
function leadBack(ctx: FaultContext): Verdict {
  if (cursorOf(ctx) !== LOOP || listKey(ctx.call?.method) === undefined) return CONTINUE
  ctx.injected('cursor loop')
  return { kind: 'edit', edit: withoutCursor }
}

function withoutCursor(text: string): string | undefined {
  const params: JsonNode | undefined = valueOf(readJson(text), 'params')
  if (params?.kind !== 'object' || memberOf(params, 'cursor') === undefined) return undefined
  const { members } = params
  return splice(text, editEntries(params, { removes: (index) => members[index]!.key === 'cursor' }))
}

/** True for the notification that a list has changed. */
function isListChanged(message: Message | undefined): boolean {
  return message?.kind === 'notification' && METHOD.test(message.method)
}

/** Returns the notification of a changed list: of the list that a method uses, or of tools. */
function listChanged(about: string | undefined): Frame {
  const kind = /^(?:prompts|resources)(?=\/)/.exec(about ?? '')?.[0] ?? 'tools'
  const method = `notifications/${kind}/list_changed`
  const json = JSON.stringify({ jsonrpc: '2.0', method })
  return {
    kind: 'event',
    raw: Buffer.from(`event: message\ndata: ${json}\n\n`),
    message: { kind: 'notification', method, params: undefined },
    last: false,
  }
}
