import { Ajv } from 'ajv'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { parseAllDocuments } from 'yaml'

/** An object of Kubernetes, as manifests have them. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    readonly name: string
    readonly namespace?: string
    readonly labels?: Readonly<Record<string, string>>
    readonly annotations?: Readonly<Record<string, string>>
  }
  readonly [key: string]: unknown
}

interface Model {
  validate(): void
}

const require = createRequire(import.meta.url)

/** The packages with the schemas of kinds that Kubernetes does not bring itself. */
const CUSTOM: Readonly<Record<string, string>> = {
  'monitoring.coreos.com': '@kubernetes-models/prometheus-operator',
  'cert-manager.io': '@kubernetes-models/cert-manager',
}

/** All objects of a text of YAML documents; empty documents are left out. */
export function manifestsOf(text: string): readonly Manifest[] {
  return parseAllDocuments(text).flatMap((document) => {
    const [error] = document.errors
    if (error !== undefined) throw error
    const value = document.toJS() as Manifest | null
    return value === null ? [] : [value]
  })
}

/** All objects of a file below `deploy/`. */
export function deployed(path: string): readonly Manifest[] {
  return manifestsOf(readFileSync(new URL(`../../deploy/${path}`, import.meta.url), 'utf8'))
}

/** Returns the problems that Kubernetes' schemas find in an object, unknown fields included. */
export function manifestProblems(manifest: Manifest): readonly string[] {
  const { apiVersion, kind } = manifest
  if (kind === 'HTTPRoute') return schemaProblems(manifest, 'http-route.schema.json')
  const group = apiVersion.includes('/') ? apiVersion.split('/')[0]! : ''
  const models = require(`${CUSTOM[group] ?? 'kubernetes-models'}/${apiVersion}/${kind}`) as Record<
    string,
    new (data: object) => Model
  >
  const seen = new Map<object, Set<string>>()
  // A schema reads every field that it knows: a field that is never read is unknown.
  const model = new models[kind]!(manifest)
  try {
    model.validate.call(watch(model, seen))
  } catch (error) {
    return [(error as Error).message]
  }
  return unseen(model, seen, kind)
}

/** Returns the problems that the schema of a CustomResourceDefinition beside this file finds. */
export function schemaProblems(manifest: unknown, file: string): readonly string[] {
  const schema = JSON.parse(readFileSync(new URL(file, import.meta.url), 'utf8')) as object
  const check = new Ajv({ strict: false, allErrors: true }).compile(schema)
  check(manifest)
  return (check.errors ?? []).map(({ instancePath, message = '' }) => `${instancePath} ${message}`)
}

function watch(value: object, seen: Map<object, Set<string>>): object {
  const keys = new Set<string>()
  const children = new Map<object, object>()
  seen.set(value, keys)
  return new Proxy(value, {
    get(target, key) {
      const child = Reflect.get(target, key) as unknown
      if (typeof key === 'string') keys.add(key)
      if (typeof child !== 'object' || child === null) return child
      const known = children.get(child) ?? watch(child, seen)
      children.set(child, known)
      return known
    },
  })
}

function unseen(value: unknown, seen: Map<object, Set<string>>, path: string): readonly string[] {
  if (typeof value !== 'object' || value === null) return []
  const keys = seen.get(value)
  return Object.entries(value).flatMap(([key, child]) => {
    const here = Array.isArray(value) ? `${path}[${key}]` : `${path}.${key}`
    const isKnown = Array.isArray(value) || keys?.has(key) === true
    return isKnown ? unseen(child, seen, here) : [`${here} is not known`]
  })
}
