import {
  asText,
  atMost,
  type FlagInput,
  group,
  invalidCombination,
  invalidValue,
  many,
  missing,
  one,
  oneOf,
  operation,
  pairs,
  type RequestOf,
  toggle,
} from '#cli'
import { parseMinor } from '../cli/cluster-options.ts'

const INPUT = 'Input:'
const NAMESPACE = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/
const MOST_FILES = 1000

export const INJECT = operation({
  name: 'inject',
  examples: [
    'inject -f deployment.yaml | kubectl apply -f -',
    'inject -f deployment.yaml --kubernetes-version 1.33',
    'inject -f injected.yaml --undo | kubectl apply -f -',
  ],
  page: 'docs/concepts/injection.md',
  description: 'inject the sidecar into manifests whose pods request it, as the webhook does',
  flags: {
    ...group(INPUT, {
      filename: many(
        'path',
        'manifest in YAML or JSON, with any number of documents; use - for standard input; repeatable',
        parseFiles,
        { short: 'f' },
      ),
      undo: toggle('remove the sidecar, and restore the original values'),
    }),
    ...group('The target:', {
      namespace: one('name', 'namespace of objects without a namespace', parseNamespace, {
        short: 'n',
        default: 'default',
      }),
      namespaceLabel: many(
        'key=value',
        'label of the namespace, for input without the Namespace object; repeatable',
        pairs,
      ),
      namespaceAnnotation: many(
        'key=value',
        'annotation of the namespace, for input without the Namespace object; repeatable',
        pairs,
      ),
      kubernetesVersion: one(
        'version',
        'Kubernetes version, such as 1.33; determines whether sidecars are native',
        parseMinor,
      ),
    }),
    ...group('The sidecar:', {
      annotation: many(
        'key=value',
        'annotation to add to each pod template first, such as inject=true or mode=port; repeatable',
        pairs,
      ),
      image: one('image', 'sidecar image', asText),
      settings: one('file', 'injector settings, in YAML or JSON, as for the webhook', asText),
    }),
    ...group('Output:', {
      format: one(
        'format',
        'output format: yaml or json (default: as each document)',
        oneOf(['yaml', 'json']),
      ),
    }),
  },
  note: `
The command writes the result to standard output, and notes on pods to standard error. It uses
Namespaces and Services in the input for checks. If a pod is denied, the command writes nothing
and exits with code 1.`,
  parse: (flags) => flags,
})

export type InjectRequest = RequestOf<typeof INJECT>

function parseNamespace(given: FlagInput): string {
  if (NAMESPACE.test(given.text)) return given.text
  throw invalidValue(
    given,
    'is not a valid namespace name',
    'use lower case letters, digits and dashes',
  )
}

function parseFiles(given: readonly FlagInput[]): readonly string[] {
  if (given.length === 0)
    throw missing('no manifest', 'name a manifest with -f; use - for standard input')
  atMost(MOST_FILES, given)
  const files = given.map(({ text }) => text)
  if (files.filter((file) => file === '-').length > 1) {
    throw invalidCombination('duplicate -f -', 'standard input can be read only once')
  }
  return files
}
