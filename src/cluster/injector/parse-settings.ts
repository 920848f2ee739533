import { type Fields, isRecord } from '../../base/values.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { nearestName } from '../../base/nearest-name.ts'
import { PRODUCTION_NAMES, productionPatternProblem } from '../../rules/guard/production-names.ts'
import { ANNOTATIONS } from './annotations.ts'
import type { InjectorSettings, SidecarResources } from './injector-settings.ts'
import { parseQuantity } from './quantity.ts'
import { cpu, image, memory, memoryRequest, objectName, type ValueCheck } from './value-checks.ts'
import { checked } from './injection-options.ts'

/** Reports invalid settings, and how to fix them. */
export class SettingsError extends Error {
  override readonly name = 'SettingsError'
  readonly code = 'BAD_INJECTOR_SETTINGS'
}

const MOST = 256
const LABEL_KEY =
  /^([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/)?[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/
const PREFIX = /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\/$/
const NAMES = [
  'image',
  'imagePullPolicy',
  'allowedImages',
  'prefix',
  'adminPort',
  'firstListenPort',
  'user',
  'resources',
  'rules',
  'adminSecret',
  'environmentLabel',
  'productionEnvironments',
  'productionAction',
  'excludedNamespaces',
  'scrapeAnnotations',
  'defaults',
] as const
const RESOURCES = ['cpuRequest', 'cpuLimit', 'memoryRequest', 'memoryLimit'] as const

/** Settings from what a file holds, with defaults for what it leaves out. Throws `SettingsError`. */
export function parseInjectorSettings(value: unknown, version: string): InjectorSettings {
  const given = object(value ?? {}, 'the settings', NAMES)
  const adminPort = port(given, 'adminPort', 15_390)
  const firstListenPort = port(given, 'firstListenPort', 15_300)
  return {
    image: text(given, 'image', `squall:${version}`, image),
    imagePullPolicy: pullPolicy(given['imagePullPolicy']),
    allowedImages: texts(given, 'allowedImages', []),
    version,
    prefix: text(given, 'prefix', 'squall.dev/', like(PREFIX, 'write a domain and a slash')),
    adminPort,
    firstListenPort,
    user: whole(given, 'user', 65_532, 1, 2 ** 31 - 1),
    resources: resources(given['resources']),
    rules: text(given, 'rules', 'squall-rules', objectName),
    adminSecret: text(given, 'adminSecret', 'squall-admin', objectName),
    environmentLabel: text(
      given,
      'environmentLabel',
      'environment',
      like(LABEL_KEY, 'write the key of a label'),
    ),
    productionEnvironments: productionNames(given),
    productionAction: productionAction(given['productionAction'] ?? 'refuse'),
    excludedNamespaces: texts(given, 'excludedNamespaces', [
      'kube-system',
      'kube-node-lease',
      'kube-public',
    ]),
    scrapeAnnotations: flag(given, 'scrapeAnnotations', true),
    defaults: defaults(given['defaults']),
  }
}

function defaults(value: unknown): Readonly<Record<string, string>> {
  if (value === undefined || value === null) return {}
  const known = ANNOTATIONS.filter(
    ({ key, places }) =>
      key !== 'allow-production' && places.some((place) => place === 'namespace'),
  ).map(({ key }) => key)
  const given = object(value, 'defaults', known)
  for (const [key, each] of Object.entries(given)) {
    if (typeof each !== 'string') throw bad(`defaults.${key}`, 'write text, in quotes')
    const fix = checked(key, each)
    if (fix !== undefined) throw bad(`defaults.${key}: ${quoted(each)}`, fix)
  }
  return given as Readonly<Record<string, string>>
}

function resources(value: unknown): SidecarResources {
  const given = object(value ?? {}, 'resources', RESOURCES)
  const result: SidecarResources = {
    cpuRequest: text(given, 'cpuRequest', '10m', cpu),
    cpuLimit: text(given, 'cpuLimit', '1', cpu),
    memoryRequest: text(given, 'memoryRequest', '32Mi', memoryRequest),
    memoryLimit: text(given, 'memoryLimit', '256Mi', memory),
  }
  const fits = (request: string, limit: string): boolean =>
    (parseQuantity(request) ?? 0) <= (parseQuantity(limit) ?? 0)
  if (!fits(result.cpuRequest, result.cpuLimit)) {
    throw bad('resources.cpuRequest', 'let it be at most cpuLimit')
  }
  if (!fits(result.memoryRequest, result.memoryLimit)) {
    throw bad('resources.memoryRequest', 'let it be at most memoryLimit')
  }
  return result
}

function productionNames(given: Fields): readonly string[] {
  const patterns = texts(given, 'productionEnvironments', PRODUCTION_NAMES)
  for (const each of patterns) {
    const fix = productionPatternProblem(each)
    if (fix !== undefined) throw bad(`productionEnvironments: ${quoted(each)}`, fix)
  }
  return patterns
}

function productionAction(value: unknown): InjectorSettings['productionAction'] {
  if (value === 'refuse' || value === 'ignore' || value === 'allow') return value
  throw bad('productionAction', 'use one of refuse, ignore, allow')
}

function pullPolicy(value: unknown): InjectorSettings['imagePullPolicy'] {
  if (value === undefined || value === null || value === '') return undefined
  if (value === 'Always' || value === 'IfNotPresent' || value === 'Never') return value
  throw bad('imagePullPolicy', 'use one of Always, IfNotPresent, Never')
}

function object(value: unknown, where: string, known: readonly string[]): Fields {
  if (!isRecord(value)) {
    throw bad(where, 'write an object')
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue
    const nearest = nearestName(key, known)
    const hint = nearest === undefined ? '' : `did you mean ${nearest}? `
    throw bad(
      `${where} has ${quoted(key)}, which is not known`,
      `${hint}known are ${known.join(', ')}`,
    )
  }
  return value
}

function text(given: Fields, key: string, fallback: string, check: ValueCheck): string {
  const value = given[key] ?? fallback
  if (typeof value !== 'string') throw bad(key, 'write text, in quotes')
  const fix = check(value)
  if (fix !== undefined) throw bad(`${key}: ${quoted(value)}`, fix)
  return value
}

function texts(given: Fields, key: string, fallback: readonly string[]): readonly string[] {
  const value = given[key] ?? fallback
  const isList = Array.isArray(value) && value.length <= MOST
  if (!isList || !value.every((each) => typeof each === 'string' && each !== '')) {
    throw bad(key, 'write a list of texts')
  }
  return value as readonly string[]
}

function port(given: Fields, key: string, fallback: number): number {
  return whole(given, key, fallback, 1024, 65_535)
}

function whole(given: Fields, key: string, fallback: number, min: number, max: number): number {
  const value = given[key] ?? fallback
  if (Number.isInteger(value) && (value as number) >= min && (value as number) <= max) {
    return value as number
  }
  throw bad(key, `write an integer from ${min} to ${max}`)
}

function flag(given: Fields, key: string, fallback: boolean): boolean {
  const value = given[key] ?? fallback
  if (typeof value === 'boolean') return value
  throw bad(key, 'write true or false')
}

function like(pattern: RegExp, fix: string): ValueCheck {
  return (value) => (pattern.test(value) ? undefined : fix)
}

function bad(wrong: string, fix: string): SettingsError {
  return new SettingsError(`${wrong}: ${fix}`)
}
