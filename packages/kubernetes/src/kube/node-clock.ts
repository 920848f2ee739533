import type { State } from '#admin-api'

/** Shorter differences may come from slow responses. */
const MIN_SECONDS = 10

/** Describes how far the clock of a sidecar is from a time; undefined while they agree. */
export function clockProblem(
  { startedAt, uptimeSeconds }: Pick<State, 'startedAt' | 'uptimeSeconds'>,
  now: number,
): string | undefined {
  const seconds = Math.round((now - Date.parse(startedAt ?? '')) / 1000 - uptimeSeconds)
  if (!(Math.abs(seconds) >= MIN_SECONDS)) return undefined
  const where = seconds > 0 ? 'behind' : 'ahead of'
  return `its clock is ${Math.abs(seconds)} s ${where} that of the API server, which shifts the times of rules`
}
