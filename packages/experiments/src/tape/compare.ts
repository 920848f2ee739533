import { fieldsOf, foreign, oneLine } from '#base'
import { print, type RequestOf } from '#cli'
import { REDACTED, redactMessage, type TapeLine } from '#sidecar'
import type { TAPE_CHECK, TAPE_DIFF } from '../commands/tape.ts'
import type { ToolInfo } from '../load/clients/load-client.ts'
import { type Difference, differences, differencesText } from './difference.ts'
import { liveServer } from './serve.ts'
import { endOf, jsonText, unreadText } from './show.ts'
import { NAMED, type Tape, type TapedCall, withOccurrences, withTape } from './tape.ts'

/** Shows what changed from one tape to another; returns 1 for a change. */
export function diffTapes({ files, values, json }: RequestOf<typeof TAPE_DIFF>): Promise<number> {
  return withTape(files[0], (before) =>
    withTape(files[1], async (after) => {
      const changes = await changesOf([before, after], values)
      const text = changes.map(changeText).join('') || 'no call changed\n'
      const lost = [before, after].map(({ path, unread }) => {
        const about = unreadText(unread)
        return about && `${foreign(path)}: ${about}`
      })
      await print(json ? jsonText(changes) : `${text}${lost.join('')}`)
      return changes.length > 0 ? 1 : 0
    }),
  )
}

/** Returns the calls that are in both tapes and differ, or are in one only. */
async function changesOf([before, after]: readonly [Tape, Tape], values: boolean) {
  const [olds, news] = [numbered(before), numbered(after)]
  const changes = []
  for (const [key, { method, name, occurrence }] of new Map([...olds, ...news])) {
    const [old, found] = [olds.get(key), news.get(key)]
    const all =
      old && found
        ? differences(part(await endOf(before, old)), part(await endOf(after, found)), values)
        : []
    if (old && found && all.length === 0) continue
    const change = old === undefined ? 'added' : found === undefined ? 'removed' : 'changed'
    const lines = [old?.line, found?.line]
    changes.push({ method, name, occurrence, change, lines, differences: all })
  }
  return changes
}

type Change = Awaited<ReturnType<typeof changesOf>>[number]

function changeText({ method, name, occurrence, change, differences: found }: Change): string {
  const nth = occurrence === 0 ? '' : ` (${occurrence + 1})`
  return `${change}: ${oneLine(`${method} ${name}`)}${nth}\n${differencesText(found)}`
}

/** Returns the calls of a tape by what they ask for, and how often it occurred before. */
function numbered(tape: Tape) {
  const calls = tape.calls.filter(({ method }) => NAMED.has(method) || method.endsWith('/list'))
  const all = withOccurrences(calls)
  return new Map(all.map((call) => [`${call.key} ${call.occurrence}`, call]))
}

/** Returns what of an end is compared. */
function part(line: TapeLine | undefined): unknown {
  if (line === undefined) return { failed: 'no response' }
  const { result, error, status, failed } = line
  if (result !== undefined) return result
  if (error !== undefined) return { error: { code: fieldsOf(error)['code'] } }
  return failed === undefined ? { status } : { failed }
}

/** The result of calling a tool of a live server as on the tape. */
interface Checked {
  readonly tool: string
  readonly line: number
  readonly arguments: unknown
  readonly result: 'same' | 'drift' | 'skipped'
  /** The reason for which the call was not made. */
  readonly reason?: string
  readonly differences: readonly Difference[]
}

const REASONS: Readonly<Record<Exclude<ToolInfo['hint'], 'reads'>, string>> = {
  destructive: 'the tool may be destructive',
  not_read_only: 'the tool is not read-only',
  no_hint: 'the tool does not declare readOnlyHint',
}

type CheckRequest = RequestOf<typeof TAPE_CHECK>

/** Compares a live server with a tape; returns 1 for a difference, and where nothing was compared. */
export function checkTape(request: CheckRequest): Promise<number> {
  const { file, upstream, json } = request
  return withTape(file, async (tape) => {
    const server = await liveServer(request)
    const checked = new Map<string, Checked>()
    for (const call of tape.calls) {
      if (call.method !== 'tools/call' || !call.isDone || checked.has(call.key)) continue
      checked.set(call.key, await checkedCall(tape, call, server, request))
    }
    await server.close()
    const calls = [...checked.values()]
    const count = (result: Checked['result']): number =>
      calls.filter((each) => each.result === result).length
    const [same, drift, skipped] = [count('same'), count('drift'), count('skipped')]
    const none = same + drift === 0 ? 'no call was compared: name tools with --tool\n' : ''
    const text = `${calls.map(checkText).join('')}${same} same, ${drift} drifted, ${skipped} skipped\n${none}`
    const shown = { file, url: upstream.origin, same, drift, skipped, calls }
    await print(json ? jsonText(shown) : text)
    return drift > 0 || same === 0 ? 1 : 0
  })
}

async function checkedCall(
  tape: Tape,
  call: TapedCall,
  server: Awaited<ReturnType<typeof liveServer>>,
  { tool: named, values }: CheckRequest,
): Promise<Checked> {
  const { name: tool, line } = call
  const args = fieldsOf(fieldsOf((await tape.read(call))?.params)['arguments'])
  const known = { tool, line, arguments: args, differences: [] }
  const skip = (reason: string): Checked => ({ ...known, result: 'skipped', reason })
  const info = server.tools.find(({ name }) => name === tool)
  const recorded = await endOf(tape, call)
  if (recorded?.omitted !== undefined || recorded?.result === null)
    return skip('its result is not on the tape')
  if (info === undefined) {
    const reason = 'the server has no such tool'
    return { ...known, result: 'drift', reason, differences: [{ at: '', kind: 'missing' }] }
  }
  if (JSON.stringify(args).includes(REDACTED)) return skip('an argument is redacted on the tape')
  if (info.hint !== 'reads' && !named.includes(tool)) return skip(REASONS[info.hint])
  const { result: found, kind, code } = await server.call(tool, args)
  const failure =
    kind === 'rpc' ? { error: { code } } : kind === 'http' ? { status: code } : { failed: kind }
  const { result } = redactMessage({ result: found ?? failure }, tape.redaction)
  const all = differences(part(recorded), result, values)
  return { ...known, result: all.length > 0 ? 'drift' : 'same', differences: all }
}

function checkText({ tool, line, result, reason, ...checked }: Checked): string {
  const why = reason === undefined ? '' : `: ${reason}`
  const call = oneLine(`${tool} ${JSON.stringify(checked.arguments)}`, 100)
  const found = reason === undefined ? differencesText(checked.differences) : ''
  return `${result.padEnd(8)}${call} (line ${line})${why}\n${found}`
}
