import { importFaults } from '../../../rules/import/import.ts'
import { ERROR_RATE } from './simulation.ts'

/** Returns rules that fail the calls with these numbers, one rule for each call. */
export function exactRules(failing: readonly number[]): string {
  const rules = failing.map((number) => ({
    name: `call-${number}`,
    after: number - 1,
    first: 1,
    faults: [{ abort: { rpcError: { code: -32000, message: 'injected error' }, at: 'response' } }],
  }))
  return JSON.stringify({ version: 1, rules })
}

/** Returns the fault plan of the demo of mcp-chaos as `squall import` converts it. */
export function importedRules(seed: number): string {
  const plan = { seed, faults: [{ type: 'error_injection', rate: ERROR_RATE }] }
  const imported = importFaults(JSON.stringify(plan), 'mcp-chaos')
  if (!imported.ok) throw new Error('the fault plan of the demo is invalid')
  return imported.text
}
