import { describe, expect, it } from 'vitest'
import { deployed, manifestProblems, schemaProblems } from './manifest-problems.ts'

// test/system/admission-policies.test.ts has a real API server decide by the expressions.
const OBJECTS = deployed('policies/validating-admission-policies.yaml')
const [KYVERNO, ...others] = deployed('policies/kyverno.yaml')

interface Named {
  readonly name: string
  readonly expression: string
}

interface PolicySpec {
  readonly paramKind?: object
  readonly matchConstraints: {
    readonly resourceRules: readonly { readonly operations: readonly string[] }[]
  }
  readonly matchConditions: readonly Named[]
  readonly variables: readonly Named[]
  readonly validations: readonly object[]
}

const bindingOf = (name: string): { readonly paramRef?: object } =>
  OBJECTS.find(({ kind, metadata }) => kind.endsWith('Binding') && metadata.name === name)![
    'spec'
  ] as object

describe('ready policies for admission', () => {
  it('are what the schemas of Kubernetes take, each with a binding that denies', () => {
    expect(OBJECTS.map(manifestProblems)).toEqual(OBJECTS.map(() => []))
    const policies = OBJECTS.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy')
    for (const { metadata } of policies) {
      expect(bindingOf(metadata.name)).toMatchObject({
        policyName: metadata.name,
        validationActions: ['Deny'],
      })
    }
    expect(policies).toHaveLength(OBJECTS.length / 2)
  })

  it('for Kyverno are what its CustomResourceDefinition takes', () => {
    expect(schemaProblems(KYVERNO, 'kyverno-cluster-policy.schema.json')).toEqual([])
    expect(others).toEqual([])
  })

  it('for Kyverno have the same expressions and messages', () => {
    const rules = OBJECTS.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy').map(
      ({ metadata: { name }, spec }) => {
        const { paramKind, matchConstraints, ...own } = spec as PolicySpec
        const [resources] = matchConstraints.resourceRules
        const { paramRef } = bindingOf(name)
        return {
          name,
          match: {
            any: [{ resources: { kinds: ['v1/ConfigMap'], operations: resources!.operations } }],
          },
          celPreconditions: own.matchConditions,
          validate: {
            failureAction: 'Enforce',
            cel: {
              ...(paramKind !== undefined && { paramKind, paramRef }),
              variables: own.variables,
              expressions: own.validations,
            },
          },
        }
      },
    )
    expect((KYVERNO!['spec'] as { rules: object }).rules).toEqual(rules)
  })
})
