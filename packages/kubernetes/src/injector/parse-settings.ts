import type { Static } from 'typebox'
import * as check from '#checks/settings'
import { isRecord, quoted } from '#base'
import {
  fileSchema,
  ownFindings,
  pathText,
  productionPatternProblem,
  readBySchema,
  sentence,
} from '#rules'
import { checked } from './injection-options.ts'
import {
  cpu,
  image,
  like,
  memory,
  memoryRequest,
  objectName,
  parseQuantity,
  type ValueCheck,
} from './value-checks.ts'
import { type InjectorSettings, SETTINGS_SCHEMA } from './settings-schema.ts'

/** Reports invalid settings, and how to fix them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'INVALID_INJECTOR_SETTINGS'
}

const LABEL_KEY =
  /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/$/

const schema = fileSchema(SETTINGS_SCHEMA, check)
/** Checks that a schema cannot express, by key. */
const CHECKS = {
  image,
  prefix: like(PREFIX, 'must be a domain and a slash'),
  rules: objectName,
  adminSecret: objectName,
  environmentLabel: like(LABEL_KEY, 'must be a label key'),
}
const RESOURCE_CHECKS = { cpuRequest: cpu, cpuLimit: cpu, memoryRequest, memoryLimit: memory }

/** Parses the content of a settings file, and adds defaults. Throws `SettingsError`. */
export function parseInjectorSettings(value: unknown, version: string): InjectorSettings {
  const given = written(value ?? {})
  const [finding] = ownFindings(given, schema, 1)
  if (finding !== undefined) {
    const text = sentence({ ...finding, path: pathText(finding.path) })
    throw new SettingsError(finding.path.length === 0 ? `the settings: ${text}` : text)
  }
  const read = readBySchema(given, schema) as Static<typeof SETTINGS_SCHEMA>
  const settings = { image: `squall:${version}-sidecar`, ...read, version }
  checkTexts(settings, CHECKS)
  checkResources(settings.resources)
  for (const each of settings.productionEnvironments) {
    reject(`productionEnvironments: ${quoted(each)}`, productionPatternProblem(each))
  }
  for (const [key, each] of Object.entries(settings.defaults)) {
    reject(`defaults.${key}: ${quoted(each)}`, checked(key, each))
  }
  return settings
}

/** Removes keys without a value, which charts render. */
function written(value: unknown): unknown {
  if (!isRecord(value)) return value
  const entries = Object.entries(value).filter(
    ([key, each]) => each !== null && !(key === 'imagePullPolicy' && each === ''),
  )
  return Object.fromEntries(entries.map(([key, each]) => [key, written(each)]))
}

function checkResources(resources: InjectorSettings['resources']): void {
  checkTexts(resources, RESOURCE_CHECKS, 'resources.')
  const { cpuRequest, cpuLimit, memoryRequest: request, memoryLimit } = resources
  const isAbove = (one: string, other: string): boolean =>
    (parseQuantity(one) ?? 0) > (parseQuantity(other) ?? 0)
  if (isAbove(cpuRequest, cpuLimit)) reject('resources.cpuRequest', 'must be at most cpuLimit')
  if (isAbove(request, memoryLimit)) {
    reject('resources.memoryRequest', 'must be at most memoryLimit')
  }
}

function checkTexts<Key extends string>(
  texts: Readonly<Record<NoInfer<Key>, string>>,
  checks: Readonly<Record<Key, ValueCheck>>,
  prefix = '',
): void {
  for (const key of Object.keys(checks) as Key[]) {
    reject(`${prefix}${key}: ${quoted(texts[key])}`, checks[key](texts[key]))
  }
}

function reject(wrong: string, fix: string | undefined): void {
  if (fix !== undefined) throw new SettingsError(`${wrong}: ${fix}`)
}
