import { fieldsOf, oneLine, plain } from '#base'
import { LoadError } from '../load/load-error.ts'
import { parseSlo } from '../load/results/slo.ts'

const MAX_TEXTS = 100

/** `p95 is below 2s`, `the error rate stays under 5%`, `success >= 99%`. */
const LIMIT =
  /^(?:the )?(p50|p90|p95|p99|errors?|success)(?: rates?| latency)?(?: (?:is|are|stays|remains))? ?(at most|below|under|<=?|at least|above|over|>=?) ?(\d[\d.]*) ?(%|ms|s|m)[.]?$/i
const BELOW = /^(at most|below|under|<)/i

/**
 * Returns the skeleton of a plan, from a scenario and the text of the rules that it became. Texts
 * that name a limit become gates, and all others comments. Returns undefined without texts.
 */
export function scenarioPlan(scenario: unknown, rulesText: string): string | undefined {
  const fields = fieldsOf(scenario)
  const expected = [fields['expectedBehavior'] ?? fields['expected_behavior'] ?? []].flat()
  const assertions = [fields['assertions'] ?? []].flat()
  if (expected.length + assertions.length === 0) return undefined
  const slo = new Map<string, string>()
  const open: string[] = []
  const texts = [
    ...expected.map((each) => ['expectedBehavior', each] as const),
    ...assertions.map((each) => ['assertions', each] as const),
  ]
  for (const [key, value] of texts.slice(0, MAX_TEXTS)) {
    const text = oneLine(typeof value === 'string' ? value : JSON.stringify(value))
    const gate = gateOf(text)
    // A person chooses among two limits of a measure.
    if (gate === undefined || slo.has(gate[0])) open.push(`# TODO ${key}: ${plain(text)}`)
    else slo.set(...gate)
  }
  if (texts.length > MAX_TEXTS) open.push(`# TODO ${texts.length - MAX_TEXTS} more texts`)
  const rulesAt = rulesText.search(/^rules:/m)
  const gates = [...slo].map(([name, limit]) => `${name}: ${limit}`).join(', ')
  return `${rulesText.slice(0, rulesAt).replace(/^version:.*\n/m, '')}name: ${slug(fields['name'])}
# TODO the addresses, the environment, the limits of normal operation, and the load
target: { url: http://localhost:15300/mcp, environment: staging }
sidecar: { admin: http://127.0.0.1:15390, rulesFile: ./rules.yaml }
steadyState: { errors: 1%, for: 20s }
stages: [10%, 25%, 50%]
hold: 60s
load: { clients: 10 }
abortOn: { errors: { limit: 50%, for: 10s } }
${open.map((line) => `${line}\n`).join('')}${gates === '' ? '' : `slo: { ${gates} }\n`}${rulesText.slice(rulesAt)}`
}

/** Returns the gate of a text that surely means one. */
function gateOf(text: string): readonly [name: string, limit: string] | undefined {
  const [, measure = '', sign = '', number = '', unit = ''] = LIMIT.exec(text) ?? []
  const name = measure.toLowerCase().replace(/^error$/, 'errors')
  try {
    const { metric } = parseSlo(`${name}${BELOW.test(sign) ? '<' : '>'}${number}${unit}`)
    return (metric.isMinimum === true) === BELOW.test(sign) ? undefined : [name, number + unit]
  } catch (error) {
    if (!(error instanceof LoadError)) throw error
    return undefined
  }
}

function slug(name: unknown): string {
  const text = typeof name === 'string' ? name.slice(0, 200) : ''
  const found = text.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[^A-Za-z0-9]+/, '')
  return `"${found.slice(0, 40) || 'scenario'}"`
}
