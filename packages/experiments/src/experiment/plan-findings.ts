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
    ...(fieldOf(file.sidecar, 'admin') === undefined
      ? []
      : urlFindings(value, ['sidecar', 'admin'])),
    ...shapeFindings(file),
    ...sidecarFindings(file),
    ...timeFindings(withDefaults(value)),
    ...monitorFindings(value, ['expect', 'alert'], ['alertmanager', 'prometheus']),
    ...[['steadyState'], ['abortOn'], ['expect', 'during']].flatMap((section) => [
      ...monitorFindings(value, [...section, 'health'], ['url']),
      ...monitorFindings(value, [...section, 'promql'], ['url'], ['max', 'min']),
    ]),
    ...emptyFindings(file),
    ...listFindings(fieldOf(file.load, 'expect'), ['load', 'expect'], parseExpectation),
  ]
}

function urlFindings(value: unknown, path: Path): readonly Finding[] {
  const text = String(valueAt(value, path))
  const url = URL.canParse(text) ? new URL(text) : undefined
  const found = quoted(text)
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    const message = `needs a URL such as http://localhost:8080/mcp, found ${found}`
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
  return { code: 'conflict', message, path, atKey: path.length > 0 }
}

function shapeFindings(file: WrittenPlan): readonly Finding[] {
  const { rules, kill, exhaust, dependency, stages, pods } = file
  if ([rules, kill, exhaust, dependency].every((each) => each === undefined)) {
    const message = '`rules`, `kill`, `exhaust` or `dependency` is missing'
    return [{ code: 'missing_key', message, path: [] }]
  }
  if (rules !== undefined && dependency !== undefined) {
    return [conflict('`rules` and `dependency` exclude each other', ['dependency'])]
  }
  if (stages !== undefined && pods !== undefined) {
    return [conflict('`stages` and `pods` exclude each other', ['pods'])]
  }
  const staged = stages ?? pods
  if (rules !== undefined && staged === undefined) {
    return [{ code: 'missing_key', message: '`stages` or `pods` is missing', path: [] }]
  }
  if (rules === undefined && staged !== undefined) {
    const key = stages === undefined ? 'pods' : 'stages'
    return [conflict('stages need rules, and the plan has none', [key])]
  }
  return []
}

function emptyFindings({ expect }: WrittenPlan): readonly Finding[] {
  const during = fieldOf(expect, 'during')
  if (during === undefined || Object.keys(during as object).length > 0) return []
  return [needsOne('needs', ['health', 'promql', 'p50', 'p95', 'p99'], ['expect', 'during'])]
}

/** Finds what does not go together with a sidecar of this machine, or with pods. */
function sidecarFindings({ sidecar, kill, steadyState }: WrittenPlan): readonly Finding[] {
  const kubernetes = fieldOf(sidecar, 'kubernetes')
  const found: Finding[] = []
  const take = (section: unknown, path: Path, wanted: readonly string[], other: string): void => {
    for (const key of wanted) {
      if (fieldOf(section, key) !== undefined) continue
      found.push({ code: 'missing_key', message: `\`${key}\` is missing`, path })
    }
    for (const key of SIDECAR_KEYS) {
      if (wanted.includes(key) || fieldOf(section, key) === undefined) continue
      found.push(conflict(`\`${key}\` is for ${other}`, [...path, key]))
    }
  }
  if (kubernetes === undefined) {
    take(sidecar, ['sidecar'], ['admin', 'rulesFile'], PODS)
    if (kill !== undefined) take(kill, ['kill'], ['pidFile', 'command'], PODS)
    if (fieldOf(kill, 'force') !== undefined) {
      found.push(conflict(`\`force\` is for ${PODS}`, ['kill', 'force']))
    }
    take(steadyState, ['steadyState'], [], PODS)
    return found
  }
  take(sidecar, ['sidecar'], [], 'a sidecar without `kubernetes`')
  if (kill !== undefined) take(kill, ['kill'], ['pod'], 'a sidecar without `sidecar.kubernetes`')
  const isNamed = fieldOf(kubernetes, 'deployment') !== undefined
  if (isNamed === (fieldOf(kubernetes, 'selector') !== undefined)) {
    const message = 'needs either `deployment` or `selector`'
    found.push({ code: 'invalid_value', message, path: ['sidecar', 'kubernetes'] })
  }
  return found
}

const PODS = 'pods, with `sidecar.kubernetes`'
/** The keys that depend on the form of sidecar. */
const SIDECAR_KEYS = ['admin', 'rulesFile', 'pidFile', 'command', 'pod', 'ready']

function timeFindings({ sidecar, steadyState, hold }: PlanFile): readonly Finding[] {
  const times: readonly (readonly [number, number, string, Path])[] = [
    [sidecar.expiry, 1000, '1s', ['sidecar', 'expiry']],
    [steadyState.for, 100, '100ms', ['steadyState', 'for']],
    [hold, 100, '100ms', ['hold']],
  ]
  return times
    .filter(([ms, least]) => ms < least)
    .map(([, , least, path]) => ({ code: 'out_of_range', message: `needs ${least} or more`, path }))
}

function listFindings(
  list: unknown,
  path: Path,
  read: (text: string) => unknown,
): readonly Finding[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((text, index): Finding[] => {
    try {
      read(text as string)
      return []
    } catch (error) {
      if (!(error instanceof LoadError)) throw error
      return [{ code: 'invalid_value', message: error.message, path: [...path, index] }]
    }
  })
}
