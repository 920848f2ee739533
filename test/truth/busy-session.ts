import type { Random } from '../support/random.ts'
import { foretell, type Foretold } from './predicted.ts'
import { FINE, type Failing, type ScriptedCall } from './scripted-app.ts'
import { SwiftClient, type SwiftEnd } from './swift-client.ts'

/** One request with its calls, and what is to become of each. */
export interface PlannedExchange {
  readonly calls: readonly ScriptedCall[]
  readonly foretold: readonly Foretold[]
  readonly sent: string
  readonly batch: boolean
}

/** A call of which the client saw something else than was foretold. */
export interface Surprise {
  readonly call: ScriptedCall
  readonly foretold: Foretold
  readonly saw: string
}

const TOOLS = ['search', 'fetch', 'query', 'limited', 'report', 'feed', 'order'] as const
const FAILINGS: readonly Failing[] = ['tool', 'rpc', 'http']

/**
 * All that one session does: calls with the numbers `first`, `first + step` and so on below `end`.
 */
export function planSession(
  name: string,
  random: Random,
  numbers: { readonly first: number; readonly step: number; readonly end: number },
): readonly PlannedExchange[] {
  const made = new Map<string, number>()
  const plans: PlannedExchange[] = []
  // Which call of `order` is the k-th is only known where one session makes them all.
  const tools = numbers.first === 0 ? TOOLS : TOOLS.slice(0, -1)
  let n = numbers.first
  while (n < numbers.end) {
    const held = random.chance(0.01)
    const batch = !held && random.chance(0.2)
    const mixed = batch && random.chance(0.3)
    const tool = held ? 'held' : random.pick(tools)
    // Only streams lose events: a request that may call `feed` gets its response by a stream.
    const sse = mixed || tool === 'feed' || random.chance(0.4)
    const sent = `${name}-${plans.length}`
    const calls: ScriptedCall[] = []
    const foretold: Foretold[] = []
    const room = Math.ceil((numbers.end - n) / numbers.step)
    const size = batch ? Math.min(random.int(1, 6), room) : 1
    while (calls.length < size) {
      const called = mixed ? random.pick(tools) : tool
      const fail = random.chance(0.1)
        ? random.pick(batch ? FAILINGS.slice(0, 2) : FAILINGS)
        : undefined
      const params = { name: called, arguments: { ...(sse && { sse }), n, ...(fail && { fail }) } }
      const call: ScriptedCall = { id: n, method: 'tools/call', params }
      const before = made.get(called) ?? 0
      made.set(called, before + 1)
      calls.push(call)
      foretold.push(foretell(call, { shared: size > 1, sent, before }))
      n += numbers.step
    }
    plans.push({ calls, foretold, sent, batch })
  }
  return plans
}

/** Makes the planned exchanges in order, and returns the deviations. */
export async function playSession(
  name: string,
  port: number,
  plans: readonly PlannedExchange[],
): Promise<readonly Surprise[]> {
  const surprises: Surprise[] = []
  let client = await SwiftClient.connect(port)
  for (const { calls, foretold, sent, batch } of plans) {
    if (!client.isOpen) client = await SwiftClient.connect(port)
    const request = asRequest(name, sent, batch ? calls : calls[0]!)
    if (calls[0]!.params.name === 'held') {
      client.tell(request)
      client.leave()
      client = await SwiftClient.connect(port)
      continue
    }
    const saw = seen(await client.ask(request))
    for (const [index, call] of calls.entries()) {
      const what = saw.whole ?? saw.byId.get(call.id) ?? 'no response'
      if (what !== foretold[index]!.sees)
        surprises.push({ call, foretold: foretold[index]!, saw: what })
    }
  }
  client.leave()
  return surprises
}

function asRequest(session: string, sent: string, posted: unknown): string {
  const body = JSON.stringify(
    [posted].flat().length === 1 && !Array.isArray(posted)
      ? withVersion(posted)
      : (posted as unknown[]).map(withVersion),
  )
  return (
    'POST /mcp HTTP/1.1\r\nHost: pod\r\nContent-Type: application/json\r\n' +
    'Accept: application/json, text/event-stream\r\n' +
    `Mcp-Session-Id: ${session}\r\nX-Sent: ${sent}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
}

function withVersion(call: unknown): object {
  return { jsonrpc: '2.0', ...(call as object) }
}

interface Seen {
  /** The same for all calls of the request. */
  readonly whole: string | undefined
  readonly byId: ReadonlyMap<number, string>
}

interface SeenMessage {
  readonly id?: number
  readonly error?: { readonly message: string }
  readonly result?: {
    readonly isError?: boolean
    readonly content: readonly [{ readonly text: string }]
    readonly structuredContent?: { readonly value: string }
  }
}

function seen(end: SwiftEnd): Seen {
  const byId = new Map<number, string>()
  if (typeof end === 'string') return { whole: end, byId }
  if (end.status !== 200) return { whole: `status ${end.status}`, byId }
  const texts = end.isStream
    ? end.body.split('\n\n').map((event) => /^data: (.*)$/m.exec(event)?.[1] ?? '')
    : [end.body]
  for (const message of texts.flatMap(messagesIn)) {
    if (message.id !== undefined) byId.set(message.id, says(message))
  }
  return { whole: undefined, byId }
}

function messagesIn(text: string): readonly SeenMessage[] {
  try {
    return [JSON.parse(text) as SeenMessage | SeenMessage[]].flat()
  } catch {
    return []
  }
}

function says({ error, result }: SeenMessage): string {
  if (error !== undefined) return `error: ${error.message}`
  const text = result?.content[0].text
  if (result?.isError === true) return `tool error: ${text}`
  if (result?.structuredContent?.value === 'injected') return 'swapped'
  if (text === FINE) return 'fine'
  return text === FINE.slice(0, 20) ? 'short' : `something else: ${text}`
}
