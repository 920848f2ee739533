import type { RequestListener } from 'node:http'
import type { RuleSpec } from '../../src/rules/file/rule-spec.ts'
import { eventually } from '../support/eventually.ts'
import { startSidecar, type StartOptions } from '../support/sidecar.ts'
import { parseExposition, type Line } from '../telemetry/exposition.ts'

export interface StageOptions extends Pick<StartOptions, 'file' | 'faults' | 'maxBody'> {
  readonly rules: readonly RuleSpec[]
  readonly app: RequestListener
  /** Named by the requests of `call` and `post`. */
  readonly session?: string
}

/** Starts an app and a sidecar with rules in front of it. */
export async function startStage({ app, session, ...options }: StageOptions) {
  const squall = await startSidecar({ ...options, upstream: app })
  const faults = squall.faults!
  const ended = async (name: string): Promise<readonly Line[]> => {
    const { lines } = parseExposition(await squall.metrics()).get(name) ?? { lines: [] }
    return lines.filter(({ value }) => value > 0)
  }
  /** Waits until calls or exchanges without calls have ended, and nothing is open. */
  const settled = (count = 1): Promise<void> =>
    eventually(async () => {
      const [calls, http, open] = await Promise.all(
        ['squall_calls_total', 'squall_http_requests_total', 'squall_in_flight_requests'].map(
          ended,
        ),
      )
      const total = [...calls!, ...http!].reduce((sum, { value }) => sum + value, 0)
      return total >= count && open!.length === 0 ? undefined : `${total} of ${count} have ended`
    })
  return {
    port: squall.port,
    host: '127.0.0.1',
    ...(session !== undefined && { headers: { 'mcp-session-id': session } }),
    injected: faults.injected,
    notApplicable: faults.notApplicable,
    broken: faults.broken,
    counts: (index?: number) => faults.counts(index),
    settled,
    /** Who made the calls of a tool end as they did, each once. */
    origins: async (tool = 'echo'): Promise<readonly string[]> => {
      await settled()
      const lines = await ended('squall_calls_total')
      const own = lines.filter(({ labels }) => labels['tool'] === tool)
      return [...new Set(own.map(({ labels }) => labels['origin']!))]
    },
    /** How many calls of which tool ended by whom. */
    counted: async (): Promise<Readonly<Record<string, number>>> => {
      const lines = await ended('squall_calls_total')
      return Object.fromEntries(
        lines.map(({ labels: { tool, origin }, value }) => [`${tool} ${origin}`, value]),
      )
    },
    /** How many faults act now. */
    active: () => faults.active,
    disarm: () => faults.rules.states.disarm('test'),
    drain: () => squall.sidecar.drain(),
    /** Resolves when it holds. */
    until: (met: () => boolean): Promise<void> =>
      eventually(() => (met() ? undefined : `not so: ${String(met)}`)),
    close: () => squall.close(),
  }
}

export type Stage = Awaited<ReturnType<typeof startStage>>

/** A result with `text`, as JSON bytes that no serializer would write. */
export function resultText(id: number | string, text = 'ok'): string {
  return `{"result" :{"content":[{"type":"text","text":${JSON.stringify(text)}}],"n":10000000000000000001},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`
}

interface Message {
  readonly id?: number | string
  readonly method?: string
}

/** Reads what an app is asked: all messages of the POST. */
async function asked(req: Parameters<RequestListener>[0]): Promise<Message[]> {
  const parts: Buffer[] = []
  for await (const part of req) parts.push(part as Buffer)
  const value = JSON.parse(Buffer.concat(parts).toString() || '[]') as Message | Message[]
  return Array.isArray(value) ? value : [value]
}

/** Calls back with what an app is asked. */
export function whenAsked(
  req: Parameters<RequestListener>[0],
  response: (messages: Message[]) => unknown,
): void {
  asked(req).then(response, () => undefined)
}

/** An app that answers in JSON, a batch by an array. */
export const jsonApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    const calls = messages.filter(({ id }) => id !== undefined)
    const all = calls.map(({ id }) => resultText(id!))
    if (all.length === 0) return res.writeHead(202).end()
    const body =
      messages.length === 1 && req.headers['x-batch'] === undefined
        ? all[0]!
        : `[${all.join(' , ')}]`
    res.setHeader('content-type', 'application/json')
    res.setHeader('content-length', Buffer.byteLength(body))
    return res.end(body)
  })
}

/** What the stream of an app looks like, with a progress event and a comment before the response. */
export function streamText(id: number | string): string {
  return `id: 1\ndata: \n\n: keep\n\nevent: message\r\ndata: {"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":${JSON.stringify(id)},"progress":1}}\r\n\r\nid: 2\nevent: message\ndata: ${resultText(id)}\n\n`
}

/** An app that answers in a stream. */
export const sseApp: RequestListener = (req, res) => {
  whenAsked(req, (messages) => {
    res.setHeader('content-type', 'text/event-stream')
    for (const { id } of messages) if (id !== undefined) res.write(streamText(id))
    res.end()
  })
}
