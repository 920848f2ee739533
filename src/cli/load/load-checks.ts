import { type Expectation, parseExpectation } from '../../lab/load/expectation.ts'
import { LoadError } from '../../lab/load/load-error.ts'
import { parseSlo, type SloGate } from '../../lab/load/results/slo.ts'
import type { Given } from '../flags/flag-values.ts'
import { UsageError } from '../flags/usage-error.ts'

/** The conditions of `--expect`. */
export function expectationsOf(all: readonly Given[]): Expectation[] {
  return all.map((given) => asUsage(given, () => parseExpectation(given.text)))
}

/** The gates of `--slo`. */
export function gatesOf(all: readonly Given[]): SloGate[] {
  return all.map((given) => asUsage(given, () => parseSlo(given.text)))
}

function asUsage<T>({ source }: Given, read: () => T): T {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    throw new UsageError('BAD_VALUE', `${source}: ${error.wrong}`, error.mend)
  }
}
