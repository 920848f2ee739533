import type { Agents, Finding } from '#admin-api'

/** A finding that differs, or does not, from those that were saved. */
export interface Difference {
  readonly change: 'new' | 'worse' | 'better' | 'gone' | 'same' | 'untested'
  /** The newest state, which is the saved one of a finding that is gone. */
  readonly finding: Finding
  readonly before: Share
  readonly now: Share
  /** The probability of such a difference by chance; null without chances on both sides. */
  readonly chance: number | null
}

interface Share {
  readonly count: number
  readonly of: number
}

type Habit = Agents['rest'][number]

/** A difference that chance makes more rarely is one. */
const RARE = 0.05
const NONE: Share = { count: 0, of: 0 }
const ORDER = ['new', 'worse', 'untested', 'same', 'better', 'gone'] as const

/**
 * Compares findings with those that were saved, the worst first. Leaves out saved findings that
 * `passes` rejects, unless they are about another version of a client among the findings.
 */
export function compare(
  saved: Agents,
  agents: Agents,
  passes: (finding: Finding) => boolean = () => true,
): readonly Difference[] {
  const before = sharesOf(saved)
  const now = sharesOf(agents)
  const known = new Set(saved.findings.map(keyOf))
  const found = new Set(agents.findings.map(keyOf))
  const names = new Set([...agents.findings, ...agents.rest].map(nameOf))
  const gone = saved.findings.filter(
    (each) => !found.has(keyOf(each)) && (names.has(nameOf(each)) || passes(each)),
  )
  const all = [...oneEach(agents.findings), ...oneEach(gone)]
  const differences = all.map((finding): Difference => {
    const key = keyOf(finding)
    const [then, later] = [before.get(key) ?? NONE, now.get(key) ?? NONE]
    const chance = then.of === 0 || later.of === 0 ? null : fisher(then, later)
    const isKnown = known.has(key)
    const changed = changeOf(then, later, chance)
    const change = ((): Difference['change'] => {
      if (!isKnown) return then.count === 0 || changed === 'worse' ? 'new' : changed
      if (found.has(key)) return changed
      return later.of === 0 ? 'untested' : changed === 'better' ? 'gone' : 'same'
    })()
    return { change, finding, before: then, now: later, chance }
  })
  return differences.sort((a, b) => ORDER.indexOf(a.change) - ORDER.indexOf(b.change))
}

/** Returns the one with the most cases of the findings of several sidecars, or versions of a client. */
function oneEach(findings: readonly Finding[]): readonly Finding[] {
  const sorted = findings.toSorted((a, b) => a.count - b.count)
  const most = new Map(sorted.map((each) => [keyOf(each), each]))
  return findings.filter((each) => most.get(keyOf(each)) === each)
}

function changeOf(before: Share, now: Share, chance: number | null): Difference['change'] {
  if (chance === null || chance >= RARE) return 'same'
  return now.count / now.of > before.count / before.of ? 'worse' : 'better'
}

function sharesOf({ findings, rest }: Agents): ReadonlyMap<string, Share> {
  const shares = new Map<string, Share>()
  for (const each of [...findings, ...rest]) {
    const { count, of } = shares.get(keyOf(each)) ?? NONE
    shares.set(keyOf(each), { count: count + each.count, of: of + each.of })
  }
  return shares
}

/** Versions of one client are compared with each other. */
function keyOf({ kind, client, taskKind, tool }: Habit): string {
  return JSON.stringify([kind, nameOf({ client }), taskKind, tool])
}

/** Returns the name of a client without its version. */
function nameOf({ client = '' }: { readonly client?: string | undefined }): string {
  return client.replace(/ v?\d\S*$/, '')
}

/** Returns the two-sided probability of Fisher's exact test. */
export function fisher(before: Share, now: Share): number {
  const cases = before.count + now.count
  const all = before.of + now.of
  const log = (count: number): number =>
    logChoose(before.of, count) + logChoose(now.of, cases - count) - logChoose(all, cases)
  const seen = log(before.count)
  let sum = 0
  for (let i = Math.max(0, cases - now.of); i <= Math.min(cases, before.of); i++) {
    // As rare as what was seen, or more: numbers that differ by rounding count as equal.
    if (log(i) <= seen + 1e-7) sum += Math.exp(log(i))
  }
  return Math.min(1, sum)
}

function logChoose(n: number, k: number): number {
  return logFactorial(n) - logFactorial(k) - logFactorial(n - k)
}

/** Returns the logarithm of n!, by Stirling's series for large n. */
function logFactorial(n: number): number {
  if (n < 20) {
    let product = 1
    for (let i = 2; i <= n; i++) product *= i
    return Math.log(product)
  }
  return n * Math.log(n) - n + Math.log(2 * Math.PI * n) / 2 + 1 / (12 * n) - 1 / (360 * n ** 3)
}
