import { type Fields, isRecord, pointerTo } from '#base'
import { exactName } from '#rules'
import { REDACTED } from '#sidecar'
import type { PlayFlags } from '../commands/tape.ts'
import { withOccurrences } from '../tape/tape.ts'
import { FAULT_RULES, type FaultName } from './faults.ts'

/** A call of a tool, by the tool, its arguments, and how often the same call came before. */
export interface SweepCall {
  /** Equal for the same calls. */
  readonly key: string
  /** The number of the call in the table, from 1. */
  readonly number: number
  readonly tool: string
  readonly args: Fields
  readonly occurrence: number
}

/** One fault at one call. */
export interface Cell {
  /** Such as `3-timeout`. */
  readonly id: string
  readonly call: SweepCall
  readonly fault: FaultName
}

/** The name of the rule that injects the fault of a cell. */
export const CELL_RULE = 'sweep'

const MAX_LEAVES = 50
const MAX_TEXT = 1000

export function countCalls(calls: readonly { readonly key: string }[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { key } of calls) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

/** Numbers the calls of a run in their order. */
export function sweepCalls(
  calls: readonly Pick<SweepCall, 'key' | 'tool' | 'args'>[],
): readonly SweepCall[] {
  return withOccurrences(calls).map((call, index) => ({ ...call, number: index + 1 }))
}

/** Returns a cell for each call and fault. */
export function cellsOf(
  calls: readonly SweepCall[],
  faults: readonly FaultName[],
): readonly Cell[] {
  return calls.flatMap((call) =>
    faults.map((fault) => ({ id: `${call.number}-${fault}`, call, fault })),
  )
}

/** Returns the rule that injects the fault of a cell at its call alone. */
export function ruleOf(
  { call, fault }: Cell,
  calls: readonly SweepCall[],
  match: PlayFlags['match'],
): object {
  const ofTool = calls.filter(({ tool }) => tool === call.tool)
  const argsOf = (each: SweepCall): Fields => (match === 'tool' ? {} : argsMatch(each.args, ofTool))
  const args = argsOf(call)
  const text = JSON.stringify(args)
  // Calls that differ in what a rule cannot match are counted.
  const after = ofTool.filter(
    (each) => each.number < call.number && JSON.stringify(argsOf(each)) === text,
  ).length
  return {
    name: CELL_RULE,
    match: { tool: exactName(call.tool), ...(Object.keys(args).length > 0 && { args }) },
    ...(after > 0 && { after }),
    times: 1,
    faults: FAULT_RULES[fault].faults,
  }
}

/** Matches arguments exactly, as far as the other calls of the tool ask for it. */
function argsMatch(args: Fields, calls: readonly SweepCall[]): Fields {
  const own = leavesOf(args)
  const pointers = [...own.keys()]
  const absent = calls
    .flatMap((call) => [...leavesOf(call.args).keys()])
    // The parent of a value is not absent.
    .filter((each) => !pointers.some((pointer) => `${pointer}/`.startsWith(`${each}/`)))
    .slice(0, MAX_LEAVES - own.size)
  return Object.fromEntries([
    ...[...own].filter(([pointer]) => pointer !== ''),
    ...absent.map((pointer) => [pointer, { absent: true }] as const),
  ])
}

/** Maps the JSON Pointer of each value to what matches it. */
function leavesOf(args: Fields): ReadonlyMap<string, unknown> {
  const leaves = new Map<string, unknown>()
  const visit = (value: unknown, path: readonly string[]): void => {
    if (leaves.size >= MAX_LEAVES) return
    const members = Array.isArray(value) || isRecord(value) ? Object.entries(value) : []
    for (const [name, member] of members) visit(member, [...path, name])
    if (members.length === 0) leaves.set(pointerTo(path), leafMatch(value))
  }
  visit(args, [])
  return leaves
}

function leafMatch(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) return { present: true }
  if (typeof value !== 'string') return value
  // The agent sends what the tape does not hold.
  if (value.includes(REDACTED)) return { present: true }
  return value.length > MAX_TEXT ? { prefix: value.slice(0, MAX_TEXT) } : value
}
