import { NOT_APPLICABLE } from '../../filters/lib/not-applicable.ts'
import { faultText } from '../file/rule-text.ts'
import type { Explanation, FaultOutlook, RuleOutlook } from './explain.ts'
import type { ResponseOutlook } from './fault-outlook.ts'
import type { ResponseKind } from './response-kind.ts'
import type { Forecast } from '../select/rule-state.ts'
import { plain } from '../../base/text/foreign-text.ts'
import { wrapped } from '../../base/text/lines.ts'

const WIDTH = 80
const DEEPER = '  '

/** The subject of an explanation. */
type Noun = 'call' | 'connection'

/** An explanation as people read it, in lines of 80 columns. */
export function explainText(explanation: Explanation, noun: Noun = 'call'): string {
  const { disarmed, rules } = explanation
  const lines: string[] = []
  if (disarmed !== undefined) lines.push(...inLines(`Faults are disarmed: ${disarmed}.`), '')
  if (rules.length === 0) lines.push(`There are no rules for this ${noun}.`)
  for (const rule of rules) lines.push(...linesOf(rule, noun))
  lines.push(...legend(rules))
  return `${lines.join('\n')}\n`
}

function linesOf(rule: RuleOutlook, noun: Noun): string[] {
  if (!rule.matches) {
    const isDisabled = rule.result === 'disabled'
    return [
      ...inLines(
        `${rule.rule}: does not match${isDisabled ? ', and is disabled in the file' : ''}`,
      ),
      ...rule.failing.flatMap(({ dimension, wants, found }) =>
        inLines(`${dimension}: expected ${wants}, got ${found}`, '  '),
      ),
    ]
  }
  return [
    ...inLines(`${rule.rule}: matches, ${saysResult(rule, noun)}`),
    ...timeLines(rule),
    ...sampleLines(rule.forecast, noun),
    ...rule.faults.flatMap(faultLines),
  ]
}

/** `%` is the subject. */
const RESULT: Readonly<Partial<Record<NonNullable<RuleOutlook['result']>, string>>> = {
  sampled: 'and samples this %',
  dry_run: 'and would sample this %, but is a dry run',
  not_sampled: 'but does not sample this %',
  quota_used: 'but its `times` limit is reached',
  expired: 'but it has expired',
  not_yet: 'but it has not started yet, or is paused',
  other_pod: 'but this pod is outside its share of pods',
  disarmed: 'but faults are disarmed',
  disabled: 'but is disabled in the file',
}

function saysResult({ result, forecast, limit, stoppedBy }: RuleOutlook, noun: Noun): string {
  if (result === 'stopped')
    return `but ${stoppedBy ?? 'an earlier rule'} samples it, with \`then: stop\``
  if (result === 'forbidden') return `but a limit forbids it: ${limit ?? 'its share is used up'}`
  if (result === 'not_selected') {
    return `but \`first\`, \`after\`, \`every\` or \`episode\` skips ${noun} ${forecast?.ordinal ?? 0}`
  }
  return ((result && RESULT[result]) ?? '').replace('%', noun)
}

function timeLines({ appliedAt, until }: RuleOutlook): string[] {
  if (until === undefined) return []
  const from = appliedAt === undefined ? 'if the sidecar starts now' : `applied ${appliedAt}`
  return inLines(`ends ${until}, ${from}`, '  ')
}

function sampleLines(forecast: Forecast | undefined, noun: Noun): string[] {
  if (forecast?.sample === undefined) return []
  const { sample, key, share, burst, ordinal } = forecast
  const lines: string[] = []
  if (burst !== undefined) {
    lines.push(`  burst: sample ${short(burst.sample)}, must be below ${short(burst.chance)}`)
  }
  if (share < 1) {
    const compared = `sample ${short(sample)}, must be below ${short(share)}`
    lines.push(...inLines(`${noun} ${ordinal}, key ${key ?? ''}: ${compared}`, '  '))
  }
  return lines
}

const RESPONSES: Readonly<Record<ResponseKind, string>> = {
  json: 'JSON',
  sse: 'stream',
  'http+sse': 'HTTP+SSE',
  stdio: 'stdio',
  resumed: 'resumed stream',
  batch: 'batch in JSON',
  'batch-sse': 'batch by stream',
  http: 'HTTP body',
  'http-sse': 'HTTP stream',
  posted: 'message',
  'call-stream': 'stream of a call',
  'session-stream': 'stream of a session',
  input: 'JSON that requests input',
  'input-sse': 'stream that requests input',
}

/** Kinds of responses with the same outlook share a line, those that the call can get first. */
function faultLines({ fault, config, responses }: FaultOutlook): string[] {
  const lines = inLines(faultText(fault, config), '  ')
  for (const here of [true, false]) {
    const byText = new Map<string, string[]>()
    for (const each of responses.filter((response) => response.here === here)) {
      const text = responseText(each)
      byText.set(text, [...(byText.get(text) ?? []), RESPONSES[each.on]])
    }
    for (const [text, names] of byText) {
      const line = `${names.join(', ')}: ${text}`
      lines.push(...inLines(here ? line : `(${line})`, '    '))
    }
  }
  return lines
}

function responseText({ acts, does, needs, reason, behind }: ResponseOutlook): string {
  if (behind !== undefined) return `is not reached: ${behind} responds first`
  if (acts === 'yes') return does ?? ''
  if (acts === 'depends') return `${does ?? ''}, given ${needs ?? ''}`
  return `does not act (${reason ?? ''})`
}

/** Explains the words and brackets that the text uses. */
function legend(rules: readonly RuleOutlook[]): string[] {
  const responses = rules.flatMap((rule) => rule.faults.flatMap((fault) => fault.responses))
  const reasons = new Set(responses.flatMap(({ reason }) => reason ?? []))
  const lines = [...reasons].flatMap((reason) => inLines(`${reason}: ${NOT_APPLICABLE[reason]}`))
  if (responses.some(({ here }) => !here))
    lines.push('In brackets: response types that do not apply to this call.')
  return lines.length === 0 ? [] : ['', ...lines]
}

function short(value: number): string {
  return String(Number(value.toFixed(4)))
}

function inLines(text: string, indent?: string): string[] {
  return wrapped(plain(text), WIDTH, indent, DEEPER)
}
