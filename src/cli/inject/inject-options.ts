import { quoted } from '../../base/text/foreign-text.ts'
import { type Environment, FlagValues, type Given, type RawFlags } from '../flags/flag-values.ts'
import { parseChoice } from '../flags/units.ts'
import { parseAnnotationPrefix } from '../flags/annotation-prefix.ts'
import { UsageError } from '../flags/usage-error.ts'
import { INJECT_FLAGS, type InjectFlag, UNINJECT_FLAGS, type UninjectFlag } from './inject-flags.ts'

/** The output format; undefined for the format of the input. */
export type ManifestFormat = 'yaml' | 'json' | undefined

/** The files to read, and the format to write. */
export interface ManifestRequest {
  readonly files: readonly string[]
  readonly format: ManifestFormat
}

/** The checked options of `squall inject`. */
export interface InjectRequest extends ManifestRequest {
  readonly namespace: string
  readonly namespaceLabels: Texts
  readonly namespaceAnnotations: Texts
  /** Kubernetes 1.`minor`; undefined when nobody said. */
  readonly minor: number | undefined
  /** For each pod template; keys may leave the prefix out. */
  readonly annotations: Texts
  readonly image: string | undefined
  readonly settingsFile: string | undefined
}

/** The checked options of `squall uninject`. */
export interface UninjectRequest extends ManifestRequest {
  /** The prefix of the injector's annotations. */
  readonly prefix: string
}

type Texts = Readonly<Record<string, string>>

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const MOST_FILES = 1000

/** Checks what `squall inject` was given. Throws nothing but a `UsageError`. */
export function parseInject(raw: RawFlags, env: Environment): InjectRequest {
  const flags = new FlagValues<InjectFlag>(INJECT_FLAGS, raw, env)
  const namespace = flags.required('namespace')
  if (!NAMESPACE.test(namespace.text)) {
    throw new UsageError(
      'BAD_VALUE',
      `${namespace.source}: ${quoted(namespace.text)} is not the name of a namespace`,
      'use small letters, digits and dashes',
    )
  }
  return {
    ...parseManifests(flags),
    namespace: namespace.text,
    namespaceLabels: pairs(flags.all('namespace-label')),
    namespaceAnnotations: pairs(flags.all('namespace-annotation')),
    minor: parseMinor(flags.optional('kubernetes-version')),
    annotations: pairs(flags.all('annotation')),
    image: flags.optional('image')?.text,
    settingsFile: flags.optional('settings')?.text,
  }
}

/** Checks what `squall uninject` was given. Throws nothing but a `UsageError`. */
export function parseUninject(raw: RawFlags, env: Environment): UninjectRequest {
  const flags = new FlagValues<UninjectFlag>(UNINJECT_FLAGS, raw, env)
  const prefix = parseAnnotationPrefix(flags.required('annotation-prefix'))
  return { ...parseManifests(flags), prefix }
}

function parseManifests(flags: FlagValues<'file' | 'output'>): ManifestRequest {
  const files = flags.all('file').map(({ text }) => text)
  if (files.length === 0) {
    throw new UsageError('MISSING_VALUE', 'no manifest', 'name one with -f, - being standard input')
  }
  if (files.length > MOST_FILES) {
    throw new UsageError('BAD_VALUE', 'too many files', `give at most ${MOST_FILES}`)
  }
  if (files.filter((file) => file === '-').length > 1) {
    throw new UsageError('BAD_COMBINATION', '-f - is given twice', 'standard input ends only once')
  }
  const format = flags.optional('output')
  return {
    files,
    format: format && parseChoice(format.text, format.source, ['yaml', 'json'] as const),
  }
}

function parseMinor(given: Given | undefined): number | undefined {
  if (given === undefined) return undefined
  const match = /^v?1\.(\d{1,3})(?:[.+-].*)?$/.exec(given.text)
  if (match !== null) return Number(match[1])
  throw new UsageError(
    'BAD_VALUE',
    `${given.source}: ${quoted(given.text)} is not a version of Kubernetes`,
    'write 1 and its second number, such as 1.33',
  )
}

function pairs(given: readonly Given[]): Texts {
  const found = given.map(({ text, source }): readonly [string, string] => {
    const at = text.indexOf('=')
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
    const wrong = `${source}: ${quoted(text)} is no key with a value`
    throw new UsageError('BAD_VALUE', wrong, 'write key=value')
  })
  return Object.fromEntries(found)
}
