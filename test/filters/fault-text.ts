import type { FaultName } from '../../src/filters/index.ts'
import { accepted, rejected, faultText } from '../rules/rules-text.ts'

/** The parameters of a fault as a rule gets them. */
export function parameters(fault: FaultName, text: string): unknown {
  return accepted(faultText(`{ ${fault}: ${text} }`)).rules[0]!.faults[0]!.config
}

/**
 * Returns the problems of the parameters of a fault, each as `column path`; they begin at column 20
 * less the name.
 */
export function findings(fault: FaultName, text: string): readonly string[] {
  const before = `rules[0].faults[0].${fault}`
  return rejected(faultText(`{ ${fault}: ${text} }`)).map(
    ({ line, column, code, path }) => `${line}:${column} ${code} ${path.replace(before, '')}`,
  )
}
