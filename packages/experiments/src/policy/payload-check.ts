import { isRecord, plain, quoted } from '#base'
import { type Policy, productionPattern, readYaml } from '#rules'
import { stageRejections } from '../experiment/plan-rejections.ts'
import { UncheckedError, UNKNOWN } from './shell-commands.ts'
import { runsOf } from './shell-runs.ts'
import { squallIn } from './squall-commands.ts'

/** The limits of a payload: a larger one is rejected without a look at the rest. */
const MAX_VALUES = 20_000
const MAX_DEPTH = 64
const MAX_NESTED = 4
/** The names that are checked are shorter; a longer text is checked in pieces that overlap. */
const PIECE = 1024
const OVERLAP = 64

const EXPERIMENT_KEYS =
  /^(?:stages?|pods|faults?|fault_?type|rules|plan|experiment|chaos|percent(?:age)?|magnitude|probability|kill|exhaust|outbound)$/i
const GATE_KEYS =
  /^(?:abort_?(?:on|if|when)?|rollback_?(?:on|if|when)?|stop_?(?:on|if|when|conditions?)?|gates?|slos?|thresholds?|limits?)$/i
const SHARE_KEYS = /^(?:percent(?:age)?|percentage_?affected|error_?rate|probability|share|ramp)$/i
const TIME_KEYS = /^(?:for|window|over|after|within|interval|every)$/i
/** Letters with something between them: p-r-o-d. */
const SPELLED = /(?<![a-z])(?:[a-z][-._ ]){3,}[a-z](?![a-z])/gi

/** Returns all reasons for which a policy rejects the payload of a tool call. */
export function payloadProblems(
  payload: unknown,
  policy: Policy,
  hasGate = false,
): readonly string[] {
  const look = new PayloadLook(policy, hasGate)
  look.take(payload, '', 0, 0)
  return look.problems()
}

class PayloadLook {
  readonly #policy: Policy
  readonly #found = new Set<string>()
  #values = 0
  #isExperiment = false
  #hasGate: boolean
  #isStaged = false
  #wideRule: string | undefined

  constructor(policy: Policy, hasGate: boolean) {
    this.#policy = policy
    this.#hasGate = hasGate
  }

  problems(): readonly string[] {
    const found = [...this.#found]
    if (this.#isExperiment && !this.#hasGate) {
      found.push('no numeric gate; add abortOn: { errors: 5% } or slo: { success: 99% }')
    }
    if (this.#wideRule !== undefined && !this.#isStaged && this.#policy.maxPercent < 100) {
      found.push(`${where(this.#wideRule)} must set percent; the default is 100%`)
    }
    return found
  }

  /** Looks at a value; `nested` counts the texts that were read as JSON or YAML around it. */
  take(value: unknown, path: string, depth: number, nested: number): void {
    this.#values++
    if (this.#values > MAX_VALUES || depth > MAX_DEPTH || isLong(value)) {
      this.#found.add('the input is too large to check; shorten the input')
      return
    }
    if (typeof value === 'string') this.#text(value, path, depth, nested)
    else if (Array.isArray(value)) {
      for (const [index, each] of value.entries()) {
        this.take(each, `${path}/${index}`, depth + 1, nested)
      }
    } else if (isRecord(value)) {
      for (const [key, each] of Object.entries(value)) {
        this.#name(key, `${path}/${key}`)
        this.#key(key, each, `${path}/${key}`)
        this.take(each, `${path}/${key}`, depth + 1, nested)
      }
    }
  }

  #text(text: string, path: string, depth: number, nested: number): void {
    for (const form of decodedForms(text)) {
      for (const each of [form, this.#words(form, path)]) {
        for (let at = 0; at < each.length; at += PIECE - OVERLAP) {
          this.#name(each.slice(at, at + PIECE), path)
        }
      }
    }
    if (nested >= MAX_NESTED || !/[:{[]/.test(text)) return
    // Plans are often passed as text.
    const { problems, value } = readYaml(text)
    if (problems.length === 0 && typeof value === 'object' && value !== null) {
      this.take(value, path, depth + 1, nested + 1)
    }
  }

  /** Returns a text as a shell reads it; notes commands that only a person may run. */
  #words(text: string, path: string): string {
    try {
      const runs = runsOf(text)
      if (runs.some((run) => squallIn(run)?.approves)) {
        this.#found.add(
          `${where(path)} may run squall mcp approve or policy trust; only a person at a terminal may`,
        )
      }
      return runs
        .map(({ words, written, read }) => [...words, ...written, ...read].join(' '))
        .join('\n')
        .replaceAll(UNKNOWN, '')
        .replaceAll(SPELLED, (each) => each.replaceAll(/[-._ ]/g, ''))
    } catch (error) {
      if (!(error instanceof UncheckedError)) throw error
      this.#found.add(`${where(path)} cannot be checked: ${error.message}`)
      return ''
    }
  }

  #name(name: string, path: string): void {
    const pattern = productionPattern(name, this.#policy.forbidden)
    if (pattern === undefined) return
    this.#found.add(`${where(path)} names production: it matches ${pattern}`)
  }

  #key(key: string, value: unknown, path: string): void {
    if (isLong(value)) return
    if (EXPERIMENT_KEYS.test(key)) this.#isExperiment = true
    if (GATE_KEYS.test(key)) this.#hasGate ||= hasBound(value, path, 0)
    if (/^(?:stages|pods)$/i.test(key) && Array.isArray(value)) this.#stages(value, path)
    if (key === 'rules' && Array.isArray(value)) {
      const at = value.findIndex((rule) => isRecord(rule) && rule['faults'] && !rule['percent'])
      if (at >= 0) this.#wideRule ??= `${path}/${at}`
    }
    const share = SHARE_KEYS.test(key) ? shareOf(value) : undefined
    if (share === undefined || share <= this.#policy.maxPercent) return
    this.#found.add(
      `${where(path)} is ${share}%, above maxPercent: ${this.#policy.maxPercent}% of the policy`,
    )
  }

  #stages(stages: readonly unknown[], path: string): void {
    this.#isStaged = true
    const { firstStage, maxPercent } = this.#policy
    const shares = stages.map((stage) =>
      shareOf(isRecord(stage) ? Object.values(stage).find((each) => shareOf(each)) : stage),
    )
    const known = shares.filter((share) => share !== undefined)
    if (known.length < shares.length || known.length === 0) {
      this.#found.add(`${where(path)} must be a list of percentages such as [5%, 10%, 25%]`)
      return
    }
    if (known[0]! > firstStage) {
      this.#found.add(`${where(path)} begins with ${known[0]}%, above firstStage: ${firstStage}%`)
    }
    const highest = highestOf(known)
    if (highest > maxPercent) {
      this.#found.add(`${where(path)} reaches ${highest}%, above maxPercent: ${maxPercent}%`)
    }
    for (const { wrong, fix } of stageRejections(known, 'stages')) {
      this.#found.add(`${where(path)}: ${wrong}; ${fix}`)
    }
  }
}

function isLong(value: unknown): boolean {
  return Array.isArray(value) && value.length > MAX_VALUES
}

function where(path: string): string {
  return path === '' ? 'it' : quoted(plain(path))
}

/** Returns a text as written, and without percent and Base64 encoding. */
export function decodedForms(text: string): readonly string[] {
  const forms = [text]
  if (/%[0-9a-f]{2}/i.test(text)) {
    forms.push(text.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => charOf(hex)))
  }
  const words = text.match(/[A-Za-z0-9+/_-]{8,65536}={0,2}/g) ?? []
  const decoded = words
    .map((word) => Buffer.from(word, 'base64').toString('latin1'))
    .filter((read) => /^[\t\n\r -~]+$/.test(read))
  return decoded.length === 0 ? forms : [...forms, decoded.join('\n')]
}

function charOf(hex: string): string {
  return String.fromCodePoint(Number.parseInt(hex, 16))
}

/** Returns true for a limit that can be exceeded: not `success: 0%`, nor `errors: 100%`. */
function hasBound(value: unknown, name: string, depth: number): boolean {
  if (typeof value === 'object' && value !== null && depth <= 8) {
    return Object.entries(value).some(
      ([key, each]) => !TIME_KEYS.test(key) && hasBound(each, `${name} ${key}`, depth + 1),
    )
  }
  const limit = Number.parseFloat(/\d[\d.]*/.exec(String(value))?.[0] ?? '')
  if (/success|avail/i.test(name)) return limit > 0
  return /error|fail/i.test(name) ? limit < 100 : limit >= 0
}

/** Returns a share in percent: `25`, `25%`, a fraction up to 1, or the largest in a list. */
function shareOf(value: unknown, depth = 0): number | undefined {
  if (typeof value === 'object' && value !== null && depth < 8) {
    const highest = highestOf(Object.values(value).map((each) => shareOf(each, depth + 1) ?? -1))
    return highest < 0 ? undefined : highest
  }
  const share =
    typeof value === 'string' && /\d/.test(value) ? Number(value.replace('%', '')) : value
  if (typeof share !== 'number' || !(share >= 0 && share < Infinity)) return undefined
  return typeof value === 'number' && share <= 1 ? share * 100 : share
}

function highestOf(shares: readonly number[]): number {
  return shares.reduce((highest, each) => Math.max(highest, each), -1)
}
