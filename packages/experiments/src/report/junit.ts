import type { LoadResult } from '../load/results/result.ts'
import { gateValue, htmlText, plain } from '#base'

/** A gate, a phase or a verdict as a test. */
export interface JUnitCase {
  readonly name: string
  readonly seconds: number
  /** Undefined when it passed. */
  readonly failure?: string | undefined
  /** The reason for which it could not run. */
  readonly error?: string
}

/** The tests of one run. */
export interface JUnitSuite {
  readonly name: string
  readonly startedAt: string
  readonly seconds: number
  readonly cases: readonly JUnitCase[]
}

/** Escapes a text for XML, which has no form for control characters. */
function xmlText(text: string): string {
  return htmlText(plain(text))
}

/** Formats a suite as JUnit XML, which CI systems show as tests. */
export function junitText({ name, startedAt, seconds, cases }: JUnitSuite): string {
  const failures = cases.filter(({ failure }) => failure !== undefined).length
  const errors = cases.filter(({ error }) => error !== undefined).length
  const counts = `tests="${cases.length}" failures="${failures}" errors="${errors}" skipped="0"`
  const head = `name="${xmlText(name)}" ${counts} time="${seconds}"`
  return `<?xml version="1.0" encoding="UTF-8"?>
<testsuites ${head}>
  <testsuite ${head} timestamp="${xmlText(startedAt)}">
${cases.map((each) => caseText(each, name)).join('')}  </testsuite>
</testsuites>
`
}

function caseText({ name, seconds, failure, error }: JUnitCase, suite: string): string {
  const head = `<testcase classname="${xmlText(suite)}" name="${xmlText(name)}" time="${seconds}"`
  const message = error ?? failure
  if (message === undefined) return `    ${head}/>\n`
  const [kind, text] = [error === undefined ? 'failure' : 'error', xmlText(message)]
  return `    ${head}><${kind} message="${text}">${text}</${kind}></testcase>\n`
}

/** Returns the gates of a load as tests, and that it ran to its end. */
export function loadSuite({ run, slo }: LoadResult): JUnitSuite {
  const seconds = run.durationMs / 1000
  const gates = slo.map(({ gate, measured, ok }) => {
    const failure = ok ? undefined : `measured ${gateValue(gate, measured)}`
    return { name: gate, seconds, failure }
  })
  const ended = { name: 'the load runs to its end', seconds: 0 }
  return {
    name: 'squall load',
    startedAt: run.startedAt,
    seconds,
    cases: [...gates, { ...ended, failure: run.complete ? undefined : 'it was ended early' }],
  }
}
