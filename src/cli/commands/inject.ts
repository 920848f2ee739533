import {
  flagGroup,
  type Environment,
  FlagValues,
  type Given,
  type RawFlags,
} from '../flags/flag-values.ts'
import { defineCommand } from '../flags/command.ts'
import { quoted } from '../../base/text/foreign-text.ts'
import { parseChoice } from '../flags/units.ts'
import { parseAnnotationPrefix } from '../flags/annotation-prefix.ts'
import { badCombination, badValue, UsageError } from '../flags/usage-error.ts'

const INPUT = 'What to read:'

const FILE = flagGroup(INPUT, {
  file: [
    'path',
    'manifest in YAML or JSON, with any number of documents; - is standard input; repeat it for more',
    { short: 'f', repeatable: true },
  ],
})

const FORMAT = flagGroup('Output:', {
  output: ['format', 'yaml or json (default: as each document is written)', { short: 'o' }],
})

const INJECT_FLAGS = [
  ...FILE,
  ...flagGroup('Where it will run:', {
    namespace: ['name', 'namespace of what names none', { short: 'n', default: 'default' }],
    'namespace-label': [
      'key=value',
      'label of the namespace, where the input does not hold the namespace itself; repeat it for more',
      { repeatable: true },
    ],
    'namespace-annotation': [
      'key=value',
      'annotation of the namespace, likewise',
      { repeatable: true },
    ],
    'kubernetes-version': [
      'version',
      'version of the cluster, such as 1.33; it decides about native sidecars',
    ],
  }),
  ...flagGroup('The sidecar:', {
    annotation: [
      'key=value',
      'annotation to give each pod template first, such as inject=true or mode=port; repeat it for more',
      { repeatable: true },
    ],
    image: ['image', 'image of the sidecar'],
    settings: ['file', 'settings of the injector, in YAML or JSON, as the webhook has them'],
  }),
  ...FORMAT,
]

const UNINJECT_FLAGS = [
  ...FILE,
  ...flagGroup(INPUT, {
    'annotation-prefix': [
      'prefix',
      'what annotations of the injector begin with',
      { default: 'squall.dev/' },
    ],
  }),
  ...FORMAT,
]

export const INJECT = defineCommand({
  name: 'inject',
  description: 'put the sidecar into the pods of manifests that ask for it, as the webhook does',
  flags: INJECT_FLAGS,
  note: `
The result is written to standard output, and what was done to standard error. Namespaces and
Services in the input count, so that targetPorts can be checked. Where a pod is refused nothing is
written, and the exit code is 1.
Example: squall inject -f deployment.yaml --kubernetes-version 1.33 | kubectl apply -f -`,
  parse: parseInject,
  start: async (request) => (await import('../inject/inject.ts')).injectCommand(request),
})

export const UNINJECT = defineCommand({
  name: 'uninject',
  description: 'take the sidecar out of manifests again, which leaves them as they were before',
  flags: UNINJECT_FLAGS,
  parse: parseUninject,
  start: async (request) => (await import('../inject/inject.ts')).uninjectCommand(request),
})

export type InjectRequest = ReturnType<typeof parseInject>

export type UninjectRequest = ReturnType<typeof parseUninject>

type Texts = Readonly<Record<string, string>>

const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const MOST_FILES = 1000

export function parseInject(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(INJECT_FLAGS, raw, env)
  const namespace = flags.required('namespace')
  if (!NAMESPACE.test(namespace.text)) {
    throw badValue(
      namespace,
      'is not the name of a namespace',
      'use small letters, digits and dashes',
    )
  }
  return {
    ...parseManifests(flags),
    namespace: namespace.text,
    namespaceLabels: pairs(flags.all('namespace-label')),
    namespaceAnnotations: pairs(flags.all('namespace-annotation')),
    /** Kubernetes 1.`minor`. */
    minor: flags.parsed('kubernetes-version', parseMinor),
    /** For each pod template; keys may leave the prefix out. */
    annotations: pairs(flags.all('annotation')),
    image: flags.optional('image')?.text,
    settingsFile: flags.optional('settings')?.text,
  }
}

export function parseUninject(raw: RawFlags, env: Environment) {
  const flags = new FlagValues(UNINJECT_FLAGS, raw, env)
  const prefix = parseAnnotationPrefix(flags.required('annotation-prefix'))
  return { ...parseManifests(flags), prefix }
}

function parseManifests(flags: FlagValues<'file' | 'output'>) {
  const files = flags.all('file').map(({ text }) => text)
  if (files.length === 0) {
    throw new UsageError('MISSING_VALUE', 'no manifest', 'name one with -f, - being standard input')
  }
  if (files.length > MOST_FILES) {
    throw new UsageError('BAD_VALUE', 'too many files', `give at most ${MOST_FILES}`)
  }
  if (files.filter((file) => file === '-').length > 1) {
    throw badCombination('-f - is given twice', 'standard input ends only once')
  }
  return {
    files,
    format: flags.parsed('output', (given) => parseChoice(given, ['yaml', 'json'] as const)),
  }
}

function parseMinor({ text, source }: Given): number {
  const match = /^v?1\.(\d{1,3})(?:[.+-].*)?$/.exec(text)
  if (match !== null) return Number(match[1])
  throw badValue(
    { text, source },
    'is not a version of Kubernetes',
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
