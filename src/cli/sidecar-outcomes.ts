import { plain } from '../base/text/foreign-text.ts'
import { print } from './files.ts'

const FAILED = 1

/** Shows the outcome of a request to one sidecar, as lines and as an object. */
export interface ShownOutcome {
  readonly address: string
  readonly ok: boolean
  readonly lines: readonly string[]
  readonly value: object
}

/** Prints the outcomes as lines, or as one JSON document; returns the exit code. */
export async function printOutcomes(
  outcomes: readonly ShownOutcome[],
  json: boolean,
): Promise<number> {
  const sidecars = outcomes.map(({ address, ok, value }) => ({ address, ok, ...value }))
  const lines = outcomes.flatMap(({ address, lines: all }) =>
    all.map((line) => `${plain(address)}: ${plain(line)}\n`),
  )
  await print(json ? `${JSON.stringify({ sidecars })}\n` : lines.join(''))
  return outcomes.every(({ ok }) => ok) ? 0 : FAILED
}
