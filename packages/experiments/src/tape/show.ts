import { canonicalJson, counted, foreign, integerText, latency, oneLine, plainJson } from '#base'
import { print, type RequestOf } from '#cli'
import type { TapeLine } from '#sidecar'
import type { TAPE_DIFF, TAPE_SHOW } from '../commands/tape.ts'
import { textTable } from '../report/text-table.ts'
import { type Difference, differences, differencesText } from './difference.ts'
import { openTape, withTape } from './serve.ts'
import { NAMED, type Tape, type TapedCall, type Unread } from './tape.ts'

const MAX_PARAMS = 60

/** Returns JSON that does nothing to a terminal. */
export function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2).split('\n').map(plainJson).join('\n')}\n`
}

/** Returns the last line of a call, in which large results are left out. */
export async function endOf(tape: Tape, { responses }: TapedCall): Promise<TapeLine | undefined> {
  const last = responses.findLast(({ ends }) => ends)
  return last && tape.read(last)
}

/** Shows the calls of a tape; returns the exit code. */
export async function showTape({ file, json }: RequestOf<typeof TAPE_SHOW>): Promise<number> {
  const tape = await openTape(file)
  const { header, sessions, unread, bytes } = tape
  const calls = []
  for (const call of tape.calls) calls.push(await shownCall(tape, call))
  await tape.close()
  if (json) {
    const { recordedAt, secrets } = header
    const shown = { file, recordedAt, secrets, bytes, sessions, unread, calls }
    await print(jsonText(shown))
    return 0
  }
  const names = ['line', 'at', 'session', 'method', 'name', 'took', 'bytes', 'ended', 'arguments']
  const columns = names.map((name) => ({ name, number: /^(line|at|took|bytes)$/.test(name) }))
  const rows = calls.map((call) =>
    [
      String(call.line),
      latency(call.atMs),
      call.session,
      call.method,
      call.name,
      latency(call.durationMs),
      integerText(call.responseBytes),
      call.ended,
      call.params,
    ].map((text) => ({ text })),
  )
  // The handshake begins in none.
  const own = sessions.filter(({ id }) => id !== '').length
  const known = `${calls.length} requests, ${own} sessions, ${integerText(bytes)} bytes`
  const secret = `values that look like secrets: ${header.secrets}`
  const title = `${foreign(file)}: recorded ${foreign(header.recordedAt)}, ${known}; ${secret}`
  await print(`${textTable({ title, columns, rows }) || `${title}\n`}${unreadText(unread)}`)
  return 0
}

/** Returns a line about the lines of a tape that could not be read, or nothing. */
function unreadText({ count, firstLine, firstReason }: Unread): string {
  if (count === 0) return ''
  const first = `line ${firstLine}, ${firstReason}`
  return `${counted(count, 'line')} could not be read${count === 1 ? '' : ', the first'}: ${first}\n`
}

async function shownCall(tape: Tape, call: TapedCall) {
  const { line, at, session, method, name, responses } = call
  const end = responses.findLast(({ ends }) => ends)
  const { params } = (await tape.read(call)) ?? {}
  const { name: _, _meta, ...rest } = (params ?? {}) as Readonly<Record<string, unknown>>
  return {
    line,
    atMs: at,
    session,
    method,
    name,
    durationMs: end === undefined ? null : end.at - at,
    messages: responses.length,
    responseBytes: responses.reduce((sum, { length }) => sum + length, 0),
    ended: endText(await endOf(tape, call)),
    params: oneLine(canonicalJson(rest['arguments'] ?? rest), MAX_PARAMS),
  }
}

function endText(line: TapeLine | undefined): string {
  if (line === undefined) return 'no response'
  const { failed, omitted, status, error, result } = line
  if (failed !== undefined) return failed
  if (omitted !== undefined) return `not recorded (${omitted})`
  if (error !== undefined) return `error ${String((error as { code?: unknown }).code)}`
  if (result === undefined && status !== undefined) return `status ${status}`
  return (result as { isError?: unknown } | null)?.isError === true ? 'tool error' : 'ok'
}

/** A call that is in both tapes and differs, or is in one only. */
interface Changed {
  readonly method: string
  readonly name: string
  readonly occurrence: number
  readonly change: 'removed' | 'added' | 'changed'
  readonly lines: readonly (number | undefined)[]
  readonly differences: readonly Difference[]
}

/** Shows what changed from one tape to another; returns 1 for a change. */
export function diffTapes(request: RequestOf<typeof TAPE_DIFF>): Promise<number> {
  const [first, second] = request.files
  return withTape(first, (before) =>
    withTape(second, (after) => diffOpened(before, after, request)),
  )
}

async function diffOpened(
  before: Tape,
  after: Tape,
  { files, values, json }: RequestOf<typeof TAPE_DIFF>,
): Promise<number> {
  const olds = numbered(before)
  const news = numbered(after)
  const all: Changed[] = []
  for (const key of new Set([...olds.keys(), ...news.keys()])) {
    const pair = [olds.get(key), news.get(key)] as const
    const { call, occurrence } = (pair[0] ?? pair[1])!
    const [old, found] = await Promise.all([
      pair[0] && endOf(before, pair[0].call),
      pair[1] && endOf(after, pair[1].call),
    ])
    const found_ = pair[0] && pair[1] ? differences(part(old), part(found), values) : []
    if (pair[0] && pair[1] && found_.length === 0) continue
    const change = pair[0] === undefined ? 'added' : pair[1] === undefined ? 'removed' : 'changed'
    const lines = pair.map((each) => each?.call.line)
    const { method, name } = call
    all.push({ method, name, occurrence, change, lines, differences: found_ })
  }
  const text = all.map(changeText).join('') || 'no call changed\n'
  const unread = [before, after].map((tape, at) => {
    const lost = unreadText(tape.unread)
    return lost && `${foreign(files[at]!)}: ${lost}`
  })
  await print(json ? jsonText(all) : `${text}${unread.join('')}`)
  return all.length > 0 ? 1 : 0
}

function changeText({ method, name, occurrence, change, differences: found }: Changed): string {
  const nth = occurrence === 0 ? '' : ` (${occurrence + 1})`
  return `${change}: ${oneLine(`${method} ${name}`)}${nth}\n${differencesText(found)}`
}

/** Returns the calls of a tape by what they ask for, and how often it occurred before. */
function numbered(tape: Tape) {
  const counts = new Map<string, number>()
  const all = new Map<string, { readonly call: TapedCall; readonly occurrence: number }>()
  for (const call of tape.calls) {
    if (!NAMED.has(call.method) && !call.method.endsWith('/list')) continue
    const occurrence = counts.get(call.key) ?? 0
    counts.set(call.key, occurrence + 1)
    all.set(`${call.key} ${occurrence}`, { call, occurrence })
  }
  return all
}

/** Returns what of an end is compared. */
export function part(line: TapeLine | undefined): unknown {
  if (line === undefined) return { failed: 'no response' }
  const { result, error, status, failed } = line
  if (result !== undefined) return result
  if (error !== undefined) return { error: { code: (error as { code?: unknown }).code } }
  return failed === undefined ? { status } : { failed }
}
