import { parseRules } from '../../../src/rules/file/parse.ts'
import type { RulesFile } from '../../../src/rules/file/schema.ts'

/** Faults by the tool that they affect. Each wait takes a millisecond. */
const FAULTS: Readonly<Record<string, readonly string[]>> = {
  delayed: ['delay: { fixed: 1ms }'],
  aborted: ['abort: { status: 503 }'],
  erring: ['abort: { toolError: no such thing }'],
  rejected: ['abort: { rpcError: { code: -32000, message: no } }'],
  hanging: ['hang: {}'],
  held: ['hang: { for: 2ms }'],
  reset: ['reset: { at: request }'],
  resetlate: ['reset: { at: response }'],
  cut: ['truncate: { after: { bytes: 20B } }'],
  halved: ['truncate: { after: { percent: 50 }, framing: clean }'],
  corrupted: ['corrupt: { mode: garbage }'],
  rewritten: ['rewrite: { set: { /content/0/text: changed } }'],
  unauthorized: ['unauthorized: {}'],
  expired: ['session: { expire: true }'],
  limited: ['rateLimit: {}'],
  twice: ['delay: { fixed: 1ms }', 'abort: { status: 500 }'],
  some: ['abort: { status: 418 }'],
}

/** A tool that gets no response, so that its client has to leave. */
export const HANGING = 'hanging'

/** Names of the other tools that rules match. */
export const HIT_TOOLS = Object.keys(FAULTS).filter((tool) => tool !== HANGING)

/** Requests that wait, for as long as the rules specify. */
export const WAITS = /"(?:delayed|held|twice)"/

const SHARES: Readonly<Record<string, string>> = { some: '    percent: 50\n' }

/** The rules that are active on half of all stages. */
export function rulesFile(): RulesFile {
  const text = Object.keys(FAULTS).map((tool) => {
    const faults = FAULTS[tool]!.map((fault) => `      - ${fault}\n`).join('')
    return `  - name: on-${tool}\n    match: { tool: ${tool} }\n${SHARES[tool] ?? ''}    faults:\n${faults}`
  })
  const pages =
    '  - name: on-page\n    match: { http: { path: /broken } }\n    faults:\n      - abort: { status: 502 }\n'
  const parsed = parseRules(`version: 1\nseed: 7\nrules:\n${text.join('')}${pages}`)
  if (!parsed.ok) throw new Error(`the rules are rejected: ${JSON.stringify(parsed.problems)}`)
  return parsed.file
}
