import { parseExposition, type Line } from '../telemetry/exposition.ts'
import { eventually } from './eventually.ts'
import type { RunningSidecar } from './sidecar.ts'

/** A sidecar with rules, and what its faults did. */
export type RuledSidecar = ReturnType<typeof withFaults>

/** Adds what a test asks of the faults; `session` is named by the requests of `call` and `post`. */
export function withFaults(squall: RunningSidecar, session: string | undefined) {
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
    ...squall,
    faults,
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
  }
}
