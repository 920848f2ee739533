import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { createContext, Script } from 'node:vm'
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { PRODUCTION_NAMES, productionPattern } from '../../src/rules/guard/production-names.ts'
import { rounds } from '../support/rounds.ts'

// Where the webhook cannot read namespaces, the API server compares their label with names of
// production. Its expressions took euprod and shopProd-1 for no production, and prod-nonprod, too;
// the sidecar did not.
interface Policy {
  readonly kind?: string
  readonly spec: {
    readonly variables: readonly { readonly name: string; readonly expression: string }[]
    readonly validations: readonly { readonly expression: string }[]
  }
}

const RENDERED = fileURLToPath(new URL('../system/golden/chart/default.yaml', import.meta.url))

/** The part of CEL that the policy uses, on strings and lists of their own. */
const CEL = `
Object.assign(String.prototype, {
  matches(pattern) { return new RegExp(pattern).test(this) },
  findAll(pattern) { return this.match(new RegExp(pattern, 'g')) ?? [] },
  lowerAscii() { return this.toLowerCase() },
})
Array.prototype.exists = Array.prototype.some
const size = (value) => value.length
`

/** Returns a function that applies the rendered policy to a label: whether a pod is admitted. */
function admission(): (label: string) => boolean {
  const documents = parseAllDocuments(readFileSync(RENDERED, 'utf8'))
  const { spec } = documents
    .map((document) => document.toJS() as Policy)
    .find(({ kind }) => kind === 'ValidatingAdmissionPolicy')!
  const toScript = (expression: string): string =>
    `(${expression.replaceAll(/\.(exists|filter|map)\((\w), /g, '.$1(($2) => ')})`
  const steps = [
    CEL,
    ...spec.variables.map(({ name, expression }) => `variables.${name} = ${toScript(expression)}`),
    spec.validations.map(({ expression }) => toScript(expression)).join(' && '),
  ]
  const script = new Script(`{${steps.join('\n;')}}`)
  const outside = { variables: {}, namespaceObject: { metadata: { labels: {} } } }
  const context = createContext(outside)
  return (environment) => {
    outside.namespaceObject.metadata.labels = { environment }
    return script.runInContext(context) as boolean
  }
}

const admits = admission()

/** Returns the names that the policy and the table judge differently. */
function judgedDifferently(names: readonly string[]): readonly string[] {
  return names.filter((name) => admits(name) !== (productionPattern(name) === undefined))
}

it('the API server takes the same labels for production as the table of names', () => {
  const words = PRODUCTION_NAMES.map((pattern) => pattern.replaceAll(/[!*]/g, ''))
  const around = [
    '',
    'x',
    'S',
    're',
    'non-',
    'NON_',
    'non-pre.',
    'non-x-',
    'eu',
    'EU',
    '1',
    'shop-',
  ]
  const after = ['', 'x', 'S', 'Eu', 't', 'uct', 'ig', '-nonprod', '-prod', '2', '-eu-1', 'prod']
  const names = words
    .flatMap((word) => [word, word.toUpperCase(), word[0]!.toUpperCase() + word.slice(1)])
    .flatMap((word) => around.flatMap((before) => after.map((end) => before + word + end)))
  expect(names.length).toBeGreaterThan(4_000)
  expect(judgedDifferently(names)).toEqual([])
  expect(names.filter(admits).length).toBeGreaterThan(1_000)
})

it('the API server takes the same labels for production, whatever they are made of', () => {
  const pieces = ['prod', 'Prod', 'PROD', 'non', 'Not', 'pre', 'uct', 'ig', 'prd', 'live', 'Live']
  const others = ['re', 'EU', 'e', 'U', '-', '_', '.', '7', 'ion']
  const label = fc
    .array(fc.constantFrom(...pieces, ...others), { maxLength: 9 })
    .map((parts) => parts.join('').slice(0, 63))
  fc.assert(
    fc.property(label, (name) => {
      expect(judgedDifferently([name])).toEqual([])
    }),
    { numRuns: rounds(1_000, 5_000) },
  )
})
