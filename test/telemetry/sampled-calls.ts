import { vi } from 'vitest'
import type { Open } from '../support/closers.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { type Collector, startUpstream } from '../support/wire.ts'

/** The trace of a message, where it names one. */
export const META = '4bf92f3577b34da6a3ce929d0e0e4736'
/** The trace of a header. */
export const HEADER = '0af7651916cd43dd8448eb211c80319c'
export const PARENT = '00f067aa0ba902b7'
export const traceparent = (trace: string, flags = '01'): string => `00-${trace}-${PARENT}-${flags}`

interface Setup {
  readonly rules?: string
  readonly flags?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  /** Variables that OpenTelemetry's packages read themselves. */
  readonly otel?: Readonly<Record<string, string>>
  readonly behaviour?: Collector['behaviour']
}

/** Returns what starts Squall and the collector that it exports to; tests end with `unstubAllEnvs`. */
export function exportingTo(opened: Open) {
  return async ({ rules = 'rules: []', flags = [], env, otel = {}, behaviour }: Setup = {}) => {
    const collector = opened(await startUpstream('collector'))
    collector.behaviour = behaviour ?? 200
    for (const [name, value] of Object.entries({ OTEL_BSP_SCHEDULE_DELAY: '5', ...otel })) {
      vi.stubEnv(name, value)
    }
    const own = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, ...otel, ...env }
    const ruled = opened(await startSquall({ rules, flags, env: own }))
    return { collector, ruled, ...ruled }
  }
}

/** Returns a call of a tool. */
export const message = (id: number, meta?: object, tool = 'echo', args: object = {}): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: tool, arguments: args, ...(meta && { _meta: meta }) },
})

/** Sends messages, and returns the text of the response. */
export async function post({ squall }: RuledSquall, body: unknown, headers = {}): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${squall.port}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json', ...headers },
    body: JSON.stringify(body),
  })
  return response.text()
}
