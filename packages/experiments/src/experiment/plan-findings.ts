import { quoted } from '#base'
import { parseExpectation } from '../load/expectation.ts'
import { LoadError } from '../load/load-error.ts'
import {
  fieldOf,
  fileFindings,
  fileSchema,
  type Finding,
  located,
  nearestKeyAlone,
  type Path,
  type Problem,
  readValues,
  schemaFindings,
  type YamlDocument,
} from '#rules'
import * as check from '#checks/plan'
import * as rulesCheck from '#checks/rules'
import { planJsonSchema, type PlanFile } from './plan-schema.ts'

const MAX_PROBLEMS = 100

const schema = planJsonSchema()
const checked = fileSchema(schema, check, rulesCheck)

/** Returns the problems of a plan in the order of its text. */
export function planFindings(document: YamlDocument): readonly Problem[] {
  const { value } = document
  if (value === undefined) return []
  const wrong = schemaFindings(value ?? {}, checked, MAX_PROBLEMS).map((finding) =>
    finding.path[0] === 'rules' ? finding : withHint(nearestKeyAlone(finding)),
  )
  const found = [...wrong, ...fileFindings(value, wrong, schema, MAX_PROBLEMS)]
  // The other checks require a plan with a valid schema.
  if (wrong.length === 0) found.push(...ownFindings(value))
  return found
    .slice(0, MAX_PROBLEMS)
    .map((finding) => located(finding, document))
    .sort((a, b) => a.line - b.line || a.column - b.column)
}

/**
 * Adds a hint to what is often tried: `kill.container` (see docs/decisions/0036), and a limit as a
 * sentence.
 */
function withHint(finding: Finding): Finding {
  const { path, found } = finding
  if (path[0] === 'kill' && found === 'container') {
    return { ...finding, hint: 'a container cannot be killed alone; `pod: 1` deletes its pod' }
  }
  const sentence = path[0] === 'abortOn' && /(\d[\w.%]*) for (\d[\w.]*)/.exec(String(found))
  if (!sentence) return finding
  return { ...finding, hint: `write { limit: ${sentence[1]}, for: ${sentence[2]} }` }
}

/** Fills in the defaults of a valid plan. */
export function withDefaults(value: unknown): PlanFile {
  return readValues(schema, value, schema.definitions) as PlanFile
}

type WrittenPlan = { readonly [Key in keyof PlanFile]?: unknown }

function ownFindings(value: unknown): readonly Finding[] {
  const file = value as WrittenPlan
  return [
    ...urlFindings(value, ['target', 'url']),
    ...(fieldOf(file.sidecar, 'admin') === undefined ? [] : urlFindings(value, ADMIN)),
    ...shapeFindings(file),
    ...sidecarFindings(file),
    ...timeFindings(withDefaults(value)),
    ...monitorFindings(value, ['expect', 'alert'], ['alertmanager', 'prometheus']),
    ...[['steadyState'], ['abortOn'], ['expect', 'during']].flatMap((section) => [
      ...monitorFindings(value, [...section, 'health'], ['url']),
      ...monitorFindings(value, [...section, 'promql'], ['url'], ['max', 'min']),
    ]),
    ...emptyFindings(file),
    ...expectFindings(fieldOf(file.load, 'expect')),
  ]
}

const ADMIN = ['sidecar', 'admin']

function urlFindings(value: unknown, path: Path): readonly Finding[] {
  const text = String(valueAt(value, path))
  const url = URL.canParse(text) ? new URL(text) : undefined
  const found = quoted(text)
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const message = `must be a URL such as http://localhost:8080/mcp; got ${found}`
    return [{ code: 'invalid_value', message, path, found }]
  }
  if (url.username === '' && url.password === '') return []
  const message =
    'a plan must not contain a password; pass secrets with --header, --auth-token-file or --monitor-token-file'
  return [{ code: 'invalid_value', message, path }]
}

/** Checks that each object of one or more names one URL, and one of further keys. */
function monitorFindings(
  value: unknown,
  path: Path,
  urls: readonly string[],
  further: readonly string[] = [],
): readonly Finding[] {
  const written = valueAt(value, path)
  const places = Array.isArray(written) ? written.map((_, index) => [...path, index]) : [path]
  return places.flatMap((place): readonly Finding[] => {
    const one = valueAt(value, place)
    if (one === undefined) return []
    const named = urls.filter((key) => fieldOf(one, key) !== undefined)
    const isBound = further.length === 0 || further.some((key) => fieldOf(one, key) !== undefined)
    return [
      ...(named.length === 1
        ? urlFindings(value, [...place, named[0]!])
        : [needsOne('needs either', urls, place)]),
      ...(isBound ? [] : [needsOne('needs', further, place)]),
    ]
  })
}

function needsOne(needs: string, keys: readonly string[], path: Path): Finding {
  const message = `${needs} ${keys.map((key) => `\`${key}\``).join(' or ')}`
  return { code: 'invalid_value', message, path }
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>(
    (at, key) => (Array.isArray(at) ? at[Number(key)] : fieldOf(at, String(key))),
    value,
  )
}

function conflict(message: string, path: Path): Finding {
  return { code: 'conflict', message, path, atKey: true }
}

function missingKey(message: string, path: Path): Finding {
  return { code: 'missing_key', message, path }
}

/** Finds the first thing that is wrong with the shape: a key that is missing, or one too many. */
function shapeFindings(file: WrittenPlan): readonly Finding[] {
  const { rules, kill, exhaust, dependency, stages, pods } = file
  const staged = stages ?? pods
  const checks: readonly (readonly [isWrong: unknown, message: string, key?: string])[] = [
    [!(rules ?? kill ?? exhaust ?? dependency), `${EFFECTS} is missing`],
    [rules && dependency, '`rules` and `dependency` exclude each other', 'dependency'],
    [stages && pods, '`stages` and `pods` exclude each other', 'pods'],
    [rules && !staged, '`stages` or `pods` is missing'],
    [!rules && stages, NO_RULES, 'stages'],
    [!rules && pods, NO_RULES, 'pods'],
  ]
  const [, message, key] = checks.find(([isWrong]) => isWrong) ?? []
  if (message === undefined) return []
  return [key === undefined ? missingKey(message, []) : conflict(message, [key])]
}

const EFFECTS = '`rules`, `kill`, `exhaust` or `dependency`'
const NO_RULES = 'stages need rules, and the plan has none'

function emptyFindings({ expect }: WrittenPlan): readonly Finding[] {
  const during = fieldOf(expect, 'during')
  if (during === undefined || Object.keys(during as object).length > 0) return []
  return [needsOne('needs', ['health', 'promql', 'p50', 'p95', 'p99'], ['expect', 'during'])]
}

const PODS = 'pods, with `sidecar.kubernetes`'
const LOCAL = 'a sidecar without `kubernetes`'
/** The keys of a section that one form of sidecar needs; the other keys of `FORM_KEYS` conflict. */
type FormKeys = readonly (readonly [keyof PlanFile, needed: readonly string[], other: string])[]
const LOCAL_KEYS: FormKeys = [
  ['sidecar', ['admin', 'rulesFile'], PODS],
  ['kill', ['pidFile', 'command'], PODS],
  ['steadyState', [], PODS],
]
const PODS_KEYS: FormKeys = [
  ['sidecar', [], LOCAL],
  ['kill', ['pod'], 'a sidecar without `sidecar.kubernetes`'],
]
const FORM_KEYS = ['admin', 'rulesFile', 'pidFile', 'command', 'pod', 'ready', 'force']

/** Finds what does not go together with a sidecar of this machine, or with pods. */
function sidecarFindings(file: WrittenPlan): readonly Finding[] {
  const pods = fieldOf(file.sidecar, 'kubernetes')
  const found = (pods === undefined ? LOCAL_KEYS : PODS_KEYS).flatMap(([name, needed, other]) => {
    const has = (key: string): boolean => fieldOf(file[name], key) !== undefined
    const missing = file[name] === undefined ? [] : needed.filter((key) => !has(key))
    const more = FORM_KEYS.filter((key) => has(key) && !needed.includes(key))
    const wrong = pods === undefined ? more : more.filter((key) => key !== 'force')
    return [
      ...missing.map((key) => missingKey(`\`${key}\` is missing`, [name])),
      ...wrong.map((key) => conflict(`\`${key}\` is for ${other}`, [name, key])),
    ]
  })
  const [byName, byLabels] = ['deployment', 'selector'].map((key) => fieldOf(pods, key))
  if (pods === undefined || (byName === undefined) !== (byLabels === undefined)) return found
  return [...found, needsOne('needs either', ['deployment', 'selector'], ['sidecar', 'kubernetes'])]
}

function timeFindings({ sidecar, steadyState, hold }: PlanFile): readonly Finding[] {
  const times: readonly (readonly [number, number, string, Path])[] = [
    [sidecar.expiry, 1000, '1s', ['sidecar', 'expiry']],
    [steadyState.for, 100, '100ms', ['steadyState', 'for']],
    [hold, 100, '100ms', ['hold']],
  ]
  return times.flatMap(([ms, least, text, path]) =>
    ms < least ? [{ code: 'out_of_range', message: `must be at least ${text}`, path }] : [],
  )
}

function expectFindings(list: unknown): readonly Finding[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((text: string, index): Finding[] => {
    try {
      parseExpectation(text)
      return []
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      return [{ code: 'invalid_value', message: error.message, path: ['load', 'expect', index] }]
    }
  })
}
