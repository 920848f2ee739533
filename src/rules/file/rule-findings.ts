import { type Fields, isRecord } from '../../base/values.ts'
import { highestBurstRate } from '../select/burst.ts'
import type { Finding, Path, ProblemCode } from './problem.ts'

/** The contradictions in a rule's selection. Values are read, as far as they could be. */
export function selectionFindings(rule: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = []
  const has = (key: string): boolean => rule[key] !== undefined
  const say = (key: string, message: string, code: ProblemCode = 'conflict'): void => {
    findings.push({ code, message, path: [...path, key], atKey: true })
  }
  if (has('percent') && has('probability')) {
    say('probability', 'give `percent` or `probability`, not both')
  }
  if (has('ramp') && has('stages')) say('stages', 'give `ramp` or `stages`, not both')
  for (const key of ['percent', 'probability']) {
    if (has(key) && has('stages')) say(key, `\`stages\` say the share; leave \`${key}\` out`)
  }
  if (has('stages') && !has('each')) say('stages', '`stages` need `each: 5m` beside them')
  if (has('each') && !has('stages')) say('each', '`each` goes with `stages` only')
  const { from, until, ramp, burst } = rule
  if (typeof from === 'number' && typeof until === 'number' && from >= until) {
    say('until', '`until` is not after `from`')
  }
  for (const key of ['for', 'each']) {
    if (rule[key] === 0) say(key, `\`${key}\` has to be longer than zero`, 'out_of_range')
  }
  if (isRecord(ramp) && ramp['over'] === 0) {
    findings.push({
      code: 'out_of_range',
      message: '`over` has to be longer than zero',
      path: [...path, 'ramp', 'over'],
    })
  }
  if (isRecord(burst)) findings.push(...burstFindings(rule, burst, path))
  return findings
}

function burstFindings(rule: Fields, burst: Fields, path: Path): readonly Finding[] {
  const findings: Finding[] = ['first', 'every']
    .filter((key) => rule[key] !== undefined)
    .map((key) => ({
      code: 'conflict',
      message: `\`burst\` decides which calls fail in a row; it cannot go with \`${key}\``,
      path: [...path, key],
      atKey: true,
    }))
  const { rate, length } = burst
  if (typeof rate !== 'number' || typeof length !== 'number' || length < 1) return findings
  const highest = highestBurstRate(length)
  if (rate < 1 && rate > highest) {
    findings.push({
      code: 'out_of_range',
      message: `bursts of ${length} reach at most a rate of ${floored(highest)}`,
      path: [...path, 'burst', 'rate'],
      hint: 'make them longer, or the rate lower',
    })
  }
  return findings
}

function floored(rate: number): number {
  return Math.floor(rate * 1000) / 1000
}
