import {
  canonicalJson,
  counted,
  fieldsOf,
  foreign,
  integerText,
  latency,
  oneLine,
  plainJson,
} from '#base'
import { print, type RequestOf } from '#cli'
import type { TapeLine } from '#sidecar'
import type { TAPE_SHOW } from '../commands/tape.ts'
import { cell } from '../report/report-table.ts'
import { textTable } from '../report/text-table.ts'
import { type Tape, type TapedCall, withTape } from './tape.ts'

const MAX_PARAMS = 60

/** Returns JSON that does nothing to a terminal. */
export function jsonText(value: object): string {
  return `${JSON.stringify(value, null, 2).split('\n').map(plainJson).join('\n')}\n`
}

/** Returns the last line of a call, in which large results are left out. */
export async function endOf(
  tape: Tape,
  { isDone, responses }: TapedCall,
): Promise<TapeLine | undefined> {
  return isDone ? tape.read(responses.at(-1)!) : undefined
}

/** Shows the calls of a tape; returns the exit code. */
export function showTape({ file, json }: RequestOf<typeof TAPE_SHOW>): Promise<number> {
  return withTape(file, async (tape) => {
    const { recordedAt, secrets } = tape.header
    const { bytes, sessions, unread } = tape
    const calls = []
    for (const call of tape.calls) calls.push(await shownCall(tape, call))
    if (json) {
      await print(jsonText({ file, recordedAt, secrets, bytes, sessions, unread, calls }))
      return 0
    }
    // The handshake begins in none.
    const own = sessions.filter(({ id }) => id !== '').length
    const known = `${calls.length} requests, ${own} sessions, ${integerText(bytes)} bytes`
    const secret = `values that look like secrets: ${secrets}`
    const title = `${foreign(file)}: recorded ${foreign(recordedAt)}, ${known}; ${secret}`
    const table = textTable({ title, columns: COLUMNS, rows: calls.map(rowOf) })
    await print(`${table || `${title}\n`}${unreadText(unread)}`)
    return 0
  })
}

const NAMES = ['line', 'at', 'session', 'method', 'name', 'took', 'bytes', 'ended', 'arguments']
const COLUMNS = NAMES.map((name) => ({ name, number: /^(line|at|took|bytes)$/.test(name) }))

function rowOf(call: Awaited<ReturnType<typeof shownCall>>) {
  const { line, session, method, name, ended, params } = call
  const [at, took] = [latency(call.atMs), latency(call.durationMs)]
  const bytes = integerText(call.responseBytes)
  return [String(line), at, session, method, name, took, bytes, ended, params].map(cell)
}

/** Returns a line about the lines of a tape that could not be read, or nothing. */
export function unreadText({ count, firstLine, firstReason }: Tape['unread']): string {
  if (count === 0) return ''
  const first = `line ${firstLine}, ${firstReason}`
  return `${counted(count, 'line')} could not be read${count === 1 ? '' : ', the first'}: ${first}\n`
}

async function shownCall(tape: Tape, call: TapedCall) {
  const { line, at, session, method, name, responses, isDone } = call
  const { params } = (await tape.read(call)) ?? {}
  const { name: _, _meta, ...rest } = fieldsOf(params)
  return {
    line,
    atMs: at,
    session,
    method,
    name,
    durationMs: isDone ? responses.at(-1)!.at - at : null,
    messages: responses.length,
    responseBytes: responses.reduce((sum, { start, end: to }) => sum + to - start, 0),
    ended: endText(await endOf(tape, call)),
    params: oneLine(canonicalJson(rest['arguments'] ?? rest), MAX_PARAMS),
  }
}

function endText(line: TapeLine | undefined): string {
  if (line === undefined) return 'no response'
  const { failed, omitted, status, error, result } = line
  if (failed !== undefined) return failed
  if (omitted !== undefined) return `not recorded (${omitted})`
  if (error !== undefined) return `error ${String(fieldsOf(error)['code'])}`
  if (result === undefined && status !== undefined) return `status ${status}`
  return fieldsOf(result)['isError'] === true ? 'tool error' : 'ok'
}
