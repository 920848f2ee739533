import type { Explanation, RuleOutlook } from './explain.ts'
import type { Forecast } from './rule-state.ts'

/** An explanation as people read it. */
export function explainText(explanation: Explanation): string {
  const { disarmed, rules } = explanation
  const lines: string[] = []
  if (disarmed !== undefined) lines.push(`Nothing is armed: ${disarmed}.`, '')
  if (rules.length === 0) lines.push('There are no rules.')
  for (const rule of rules) lines.push(...linesOf(rule))
  return `${lines.join('\n')}\n`
}

function linesOf(rule: RuleOutlook): string[] {
  if (!rule.matches) {
    return [
      `${rule.rule}: does not match`,
      ...rule.failing.map(
        ({ dimension, wants, found }) => `  ${dimension}: wants ${wants}, found ${found}`,
      ),
    ]
  }
  const faults = rule.faults.map(
    ({ fault, summary, config }) => `  ${fault}: ${summary} ${JSON.stringify(config)}`,
  )
  return [`${rule.rule}: matches, ${saysResult(rule)}`, ...drawLines(rule.forecast), ...faults]
}

const RESULT: Readonly<Record<string, string>> = {
  drawn: 'and hits this call',
  shadow: 'and would hit this call, but is a shadow',
  not_drawn: 'but its draw does not hit this call',
  exhausted: 'but its `times` are used up',
  expired: 'but its time is over',
  not_yet: 'but its time has not come',
  other_pod: 'but this pod is not among its share of pods',
  disarmed: 'but nothing is armed',
}

function saysResult({ result, forecast, stoppedBy }: RuleOutlook): string {
  if (result === 'stopped') return `but ${stoppedBy ?? 'an earlier rule'} hits and says then: stop`
  if (result === 'not_selected') {
    return `but \`first\`, \`after\` or \`every\` leaves out call ${forecast?.ordinal ?? 0}`
  }
  return RESULT[result ?? ''] ?? ''
}

function drawLines(forecast: Forecast | undefined): string[] {
  if (forecast?.draw === undefined) return []
  const { draw, key, share, burst, ordinal } = forecast
  const lines: string[] = []
  if (burst !== undefined) {
    lines.push(`  burst: draws ${short(burst.draw)}, hits below ${short(burst.chance)}`)
  }
  if (share < 1) {
    lines.push(
      `  call ${ordinal}, key ${key ?? ''}: draws ${short(draw)}, hits below ${short(share)}`,
    )
  }
  return lines
}

function short(value: number): string {
  return String(Number(value.toFixed(4)))
}
