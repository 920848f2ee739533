import { dirname } from 'node:path'
import { fieldsOf, makeDirectory, parsedJson, readBounded, replaceText, systemReason } from '#base'
import type { Behaviour } from './rank.ts'

const SCHEMA = 'squall.baselines/1'
const MAX_BYTES = 1024 * 1024
const MAX_TOOLS = 1_000
const MAX_NAME = 256
/** The most that an earlier observation counts against a new one of as many calls. */
const MAX_CALLS = 100_000
/** The time that an observation covers: it is not learned twice. */
const COVERED_MS = 900_000

/** Reports a file that is not one of baselines. */
export class BaselinesError extends Error {
  override readonly name = 'BaselinesError'
}

/** Reads the learned behaviour of the tools of a target; empty without a file. */
export async function readBaselines(
  path: string,
  target: string,
): Promise<ReadonlyMap<string, Behaviour>> {
  return (await readAll(path)).get(target)?.tools ?? new Map()
}

/**
 * Adds what was observed in the last 15 minutes to the learned behaviour, unless that was learned
 * already; replaces the file at once.
 */
export async function learn(
  path: string,
  target: string,
  observed: readonly Behaviour[],
  now: number,
): Promise<void> {
  const all = new Map(await readAll(path))
  const before = all.get(target)
  if (before !== undefined && now - before.learnedAt < COVERED_MS) return
  const known = new Map(before?.tools)
  for (const each of observed) {
    const { tool } = each
    if (each.calls === 0 || tool.length > MAX_NAME) continue
    const sum = merged(known.get(tool), each)
    // The tools that were seen last are at the end.
    known.delete(tool)
    known.set(tool, sum)
  }
  all.delete(target)
  all.set(target, { learnedAt: now, tools: new Map([...known].slice(-MAX_TOOLS)) })
  let text = textOf(all)
  while (Buffer.byteLength(text) > MAX_BYTES && all.size > 1) {
    all.delete(all.keys().next().value!)
    text = textOf(all)
  }
  await makeDirectory(dirname(path))
  await replaceText(path, text)
}

function textOf(all: ReadonlyMap<string, Learned>): string {
  const targets = Object.fromEntries(
    [...all].map(([name, { learnedAt, tools }]) => [
      name,
      { learnedAt, tools: [...tools.values()] },
    ]),
  )
  return `${JSON.stringify({ schema: SCHEMA, targets }, null, 1)}\n`
}

/** Returns the mean of two behaviours, weighted by their calls. */
export function merged(known: Behaviour | undefined, seen: Behaviour): Behaviour {
  if (known === undefined) return seen
  const calls = Math.min(MAX_CALLS, known.calls + seen.calls)
  const share = seen.calls / (known.calls + seen.calls)
  const mean = (before: number | null, now: number | null): number | null =>
    before === null || now === null ? (now ?? before) : before + (now - before) * share
  return {
    tool: seen.tool,
    calls,
    errors: mean(known.errors / known.calls, seen.errors / seen.calls)! * calls,
    p95: mean(known.p95, seen.p95),
    bytes: mean(known.bytes, seen.bytes),
    perTask: mean(known.perTask ?? null, seen.perTask ?? null),
  }
}

interface Learned {
  /** Milliseconds since 1970. */
  readonly learnedAt: number
  readonly tools: ReadonlyMap<string, Behaviour>
}

async function readAll(path: string): Promise<ReadonlyMap<string, Learned>> {
  let bytes: Uint8Array
  try {
    bytes = await readBounded(path, MAX_BYTES)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return new Map()
    throw new BaselinesError(`it cannot be read (${systemReason(error)})`)
  }
  const wrong = new BaselinesError(`it is not a baseline file (${SCHEMA})`)
  if (bytes.length > MAX_BYTES) throw wrong
  const { schema, targets } = fieldsOf(parsedJson(new TextDecoder().decode(bytes)))
  if (schema !== SCHEMA) throw wrong
  const all = new Map<string, Learned>()
  for (const [target, learned] of Object.entries(fieldsOf(targets))) {
    const { learnedAt, tools } = fieldsOf(learned)
    if (typeof learnedAt !== 'number' || !Array.isArray(tools) || !tools.every(isBehaviour)) {
      throw wrong
    }
    all.set(target, { learnedAt, tools: new Map(tools.map((each) => [each.tool, each])) })
  }
  return all
}

function isBehaviour(value: unknown): value is Behaviour {
  const { tool, calls, errors, p95, bytes, perTask = null } = fieldsOf(value)
  return (
    typeof tool === 'string' &&
    Number(calls) > 0 &&
    Number(errors) >= 0 &&
    [p95, bytes, perTask].every((each) => each === null || (typeof each === 'number' && each >= 0))
  )
}
