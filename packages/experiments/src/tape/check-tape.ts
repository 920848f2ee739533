import { fieldsOf, oneLine } from '#base'
import { print, type RequestOf } from '#cli'
import { REDACTED, redactMessage } from '#sidecar'
import type { TAPE_CHECK } from '../commands/tape.ts'
import type { ToolInfo } from '../load/clients/load-client.ts'
import { type Difference, differences, differencesText } from './difference.ts'
import { liveServer, withTape } from './serve.ts'
import { endOf, jsonText, part } from './show.ts'
import type { Tape, TapedCall } from './tape.ts'

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

/** Compares a live server with a tape; returns 1 for a difference, and where nothing was compared. */
export function checkTape(request: RequestOf<typeof TAPE_CHECK>): Promise<number> {
  return withTape(request.file, (tape) => checkedTape(tape, request))
}

async function checkedTape(
  tape: Tape,
  { file, live, tools, values, json }: RequestOf<typeof TAPE_CHECK>,
): Promise<number> {
  const server = await liveServer(live)
  const seen = new Set<string>()
  const checked: Checked[] = []
  for (const call of tape.calls) {
    if (call.method !== 'tools/call' || !call.isDone || seen.has(call.key)) continue
    seen.add(call.key)
    checked.push(await checkedCall(tape, call, server, { tools, values }))
  }
  await server.close()
  const count = (result: Checked['result']): number =>
    checked.filter((each) => each.result === result).length
  const [same, drift, skipped] = [count('same'), count('drift'), count('skipped')]
  const none = same + drift === 0 ? 'no call was compared: name tools with --tool\n' : ''
  const text = `${checked.map(checkText).join('')}${same} same, ${drift} drifted, ${skipped} skipped\n${none}`
  const shown = { file, url: live.url.origin, same, drift, skipped, calls: checked }
  await print(json ? jsonText(shown) : text)
  return drift > 0 || same === 0 ? 1 : 0
}

async function checkedCall(
  tape: Tape,
  call: TapedCall,
  server: Awaited<ReturnType<typeof liveServer>>,
  { tools, values }: { readonly tools: readonly string[]; readonly values: boolean },
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
  if (info.hint !== 'reads' && !tools.includes(tool)) return skip(REASONS[info.hint])
  const { result } = redactMessage({ result: await server.part(tool, args) }, tape.redaction)
  const found = differences(part(recorded), result, values)
  return { ...known, result: found.length > 0 ? 'drift' : 'same', differences: found }
}

function checkText({ tool, line, result, reason, ...checked }: Checked): string {
  const why = reason === undefined ? '' : `: ${reason}`
  const call = oneLine(`${tool} ${JSON.stringify(checked.arguments)}`, 100)
  const found = reason === undefined ? differencesText(checked.differences) : ''
  return `${result.padEnd(8)}${call} (line ${line})${why}\n${found}`
}
