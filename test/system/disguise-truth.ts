import { DISGUISES, PLAIN_CALLS, type Disguise } from '../listener/disguises.ts'
import { metricOf } from '../support/wire.ts'
import { sendDisguise } from '../listener/send-disguise.ts'
import { startSquall } from '../support/commands.ts'

/** Results of disguised calls at a server behind Squall. */
export interface DisguiseTruth {
  /** Disguises by which the server ran a tool. */
  readonly ran: readonly string[]
  /** Calls that Squall counted differently from how the server read them. */
  readonly wrong: readonly string[]
}

const ACCEPT = ['Accept', 'application/json, text/event-stream']

/**
 * Sends every disguise to a server, and holds the tools that it ran against those that Squall
 * counted.
 */
export async function disguiseTruth(origin: string): Promise<DisguiseTruth> {
  const squall = await startSquall('--upstream', origin)
  const counted = async (): Promise<readonly number[]> => {
    const page = await (await fetch(`${squall.admin}/metrics`)).text()
    return [
      metricOf(page, 'squall_calls_total'),
      ...tools.map((tool) => metricOf(page, 'squall_calls_total', { tool })),
      metricOf(page, 'squall_unclassified_total'),
    ]
  }
  const tools = ['pay', 'look', '5']
  const ran: string[] = []
  const wrong: string[] = []
  try {
    for (const disguise of [...PLAIN_CALLS, ...DISGUISES]) {
      // Answered by a stream without end.
      if (disguise.method === 'GET') continue
      const before = await counted()
      const more = (disguise.headers ?? []).includes('Accept') ? [] : ACCEPT
      const { text } = await sendDisguise(squall.port, disguise, more)
      const run = tools.filter((tool) => text.includes(`ran:${tool};`))
      if (run.length > 0) ran.push(disguise.name)
      const now = await counted()
      const [all = 0, ...rest] = now.map((value, i) => value - before[i]!)
      const unread = rest.pop()!
      const seen = tools.filter((_, i) => rest[i]! > 0)
      if (!agrees(disguise, run, seen, all, unread)) {
        wrong.push(`${disguise.name}: ran ${run.join(' ')}, counted ${seen.join(' ')}`)
      }
    }
  } finally {
    await squall.close()
  }
  return { ran, wrong }
}

/** A call was counted as one of the tool that ran; or it was not read, and none was counted. */
function agrees(
  { reason }: Disguise,
  run: readonly string[],
  seen: readonly string[],
  all: number,
  unread: number,
): boolean {
  if (all === 0) return run.length === 0 || reason === undefined || unread === 1
  return run.every((tool) => seen.includes(tool))
}
