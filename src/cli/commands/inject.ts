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
import { annotationPrefixFlag, parseAnnotationPrefix } from '../kube/cluster-options.ts'
import { badCombination, badValue, missing, UsageError } from '../flags/usage-error.ts'

const INPUT = 'Input:'

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
  ...flagGroup('The target:', {
    namespace: [
      'name',
      'namespace of objects without a namespace',
      { short: 'n', default: 'default' },
    ],
    'namespace-label': [
      'key=value',
      'label of the namespace, for input without the Namespace object; repeat it for more',
      { repeatable: true },
    ],
    'namespace-annotation': [
      'key=value',
      'annotation of the namespace, likewise; repeat it for more',
      { repeatable: true },
    ],
    'kubernetes-version': [
      'version',
      'version of the cluster, such as 1.33; decides whether native sidecars are used',
    ],
  }),
  ...flagGroup('The sidecar:', {
    annotation: [
      'key=value',
      'annotation to add to each pod template first, such as inject=true or mode=port; repeat it for more',
      { repeatable: true },
    ],
    image: ['image', 'image of the sidecar'],
    settings: ['file', 'settings of the injector, in YAML or JSON, as for the webhook'],
  }),
  ...FORMAT,
]

const UNINJECT_FLAGS = [...FILE, ...annotationPrefixFlag(INPUT), ...FORMAT]

export const INJECT = defineCommand({
  name: 'inject',
  examples: [
    'inject -f deployment.yaml | kubectl apply -f -',
    'inject -f deployment.yaml --kubernetes-version 1.33',
  ],
  page: 'docs/concepts/injection.md',
  description: 'inject the sidecar into pods of manifests that request it, as the webhook does',
  flags: INJECT_FLAGS,
  note: `
The result is written to standard output, and a note on each pod to standard error. Namespaces and
Services in the input are used to check targetPorts. If a pod is refused, nothing is written and the
exit code is 1.`,
  parse: parseInject,
  start: async (request) => (await import('../inject/inject.ts')).injectCommand(request),
})

export const UNINJECT = defineCommand({
  name: 'uninject',
  examples: ['uninject -f injected.yaml', 'uninject -f injected.yaml | kubectl apply -f -'],
  page: 'docs/concepts/injection.md',
  description: 'remove the sidecar from manifests, which restores them',
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
      'use lower case letters, digits and dashes',
    )
  }
  return {
    ...parseManifests(flags),
    namespace: namespace.text,
    namespaceLabels: pairs(flags.all('namespace-label')),
    namespaceAnnotations: pairs(flags.all('namespace-annotation')),
    /** Kubernetes 1.`minor`. */
    minor: flags.parsed('kubernetes-version', parseMinor),
    /** Added to each pod template; keys may omit the prefix. */
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
    throw missing('no manifest', 'name one with -f, - being standard input')
  }
  if (files.length > MOST_FILES) {
    throw new UsageError('BAD_VALUE', 'too many files', `give at most ${MOST_FILES}`)
  }
  if (files.filter((file) => file === '-').length > 1) {
    throw badCombination('-f - is given twice', 'standard input can be read once')
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
    'write major and minor version, such as 1.33',
  )
}

function pairs(given: readonly Given[]): Texts {
  const found = given.map(({ text, source }): readonly [string, string] => {
    const at = text.indexOf('=')
    if (at > 0) return [text.slice(0, at), text.slice(at + 1)]
    const wrong = `${source}: ${quoted(text)} is not a key with a value`
    throw new UsageError('BAD_VALUE', wrong, 'write key=value')
  })
  return Object.fromEntries(found)
}
