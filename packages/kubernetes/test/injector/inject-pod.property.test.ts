import fastJsonPatch, { type Operation } from 'fast-json-patch'
import * as fc from 'fast-check'
import { Pod as KubernetesPod } from 'kubernetes-models/v1/Pod'
import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection, InjectionContext } from '../../src/injector/injection.ts'
import { jsonPatch, type PatchOperation } from '../../src/injector/json-patch.ts'
import { parsePod, type Pod } from '../../src/injector/pod.ts'
import { contexts, pods } from './pod-arbitrary.ts'
import { rounds } from '../../../../test/support/rounds.ts'
import { uninjected } from './contexts.ts'

type Injected = Extract<Injection, { kind: 'injected' }>

/** Checks a property of every pod that is injected, and returns the number of pods checked. */
function eachInjected(
  numRuns: number,
  check: (before: Pod, after: Injected, context: InjectionContext) => void,
): number {
  let count = 0
  fc.assert(
    fc.property(pods, contexts, (pod, context) => {
      const before = structuredClone(pod)
      const injection = injectPod(pod, context)
      expect(pod).toEqual(before)
      if (injection.kind !== 'injected') return
      count++
      check(pod, injection, context)
    }),
    { numRuns },
  )
  return count
}

describe('injection of any pod', () => {
  it('says what to do wherever it cannot be done', () => {
    const reasons = new Map<string, number>()
    fc.assert(
      fc.property(pods, contexts, (pod, context) => {
        const injection = injectPod(pod, context)
        const reason = injection.kind === 'injected' ? injection.mode : injection.reason
        reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
        if (injection.kind !== 'denied') return
        expect(injection.reason).toMatch(/^[a-z]+(_[a-z]+)*$/)
        expect(injection.message).toMatch(/^[^\n]{10,}: [^\n]{5,}$/)
      }),
      { numRuns: rounds(120, 250) },
    )
    // The pods that are made up are worth something only when they go every way.
    expect([...reasons.keys()]).toEqual(expect.arrayContaining(['redirect', 'port', 'bind']))
    expect(reasons.size).toBeGreaterThan(7)
  })

  it('is undone exactly, does the same twice as once, and is a patch and a pod for others', () => {
    const count = eachInjected(rounds(100, 250), (before, { pod }, context) => {
      expect(uninjected(pod)).toStrictEqual(before)
      const again = injectPod(pod, context)
      expect(again.kind === 'injected' && again.pod).toStrictEqual(pod)
      expect(patched(before, jsonPatch(before, pod))).toStrictEqual(pod)
      expect(patched(pod, jsonPatch(pod, before))).toStrictEqual(before)
      validate(pod)
      expect(parsePod(pod).ok).toBe(true)
    })
    expect(count).toBeGreaterThan(rounds(20, 50))
  })

  it('is the same after the API server wrote its defaults in between', () => {
    eachInjected(rounds(50, 100), (_, { pod }, context) => {
      const again = injectPod(withDefaults(pod), context)
      const base = injectPod(uninjected(withDefaults(pod)), context)
      expect(again).toStrictEqual(base)
      if (again.kind !== 'injected') return
      const names = again.pod.spec?.containers?.map(({ name }) => name) ?? []
      expect(new Set(names).size).toBe(names.length)
    })
  })

  it('keeps what another webhook adds in between', () => {
    eachInjected(rounds(50, 100), (before, { pod }, context) => {
      const more = (base: Pod): Pod => ({
        ...base,
        spec: {
          ...base.spec,
          containers: [...(base.spec?.containers ?? []), { name: 'late', image: 'late:1' }],
          volumes: [...(base.spec?.volumes ?? []), { name: 'late', emptyDir: {} }],
        },
      })
      const again = injectPod(more(pod), context)
      if (again.kind !== 'injected') return
      expect(uninjected(again.pod)).toStrictEqual(more(before))
    })
  })
})

/** The document after a patch, by a program that knows nothing of the one that made it. */
function patched(before: Pod, patch: readonly PatchOperation[]): unknown {
  const text = JSON.stringify(patch)
  expect(text.length).toBeLessThan(64 * 1024)
  const operations = JSON.parse(text) as Operation[]
  return fastJsonPatch.applyPatch<unknown>(structuredClone(before), operations, true).newDocument
}

/** Checks a pod by the schemas of Kubernetes, which know of native sidecars. */
function validate(pod: Pod): void {
  const text = JSON.stringify(pod)
  const plain = JSON.parse(text, (_, value: unknown) => value ?? undefined) as Pod
  new KubernetesPod(plain as ConstructorParameters<typeof KubernetesPod>[0]).validate()
}

/** The pod as it comes back from the API server: with defaults that nobody wrote. */
function withDefaults(pod: Pod): Pod {
  const copy = structuredClone(pod) as Record<string, never>
  visit(copy, (value) => {
    if ('containerPort' in value) value['protocol'] ??= 'TCP'
    if ('httpGet' in value && value['httpGet'] !== null) {
      const get = value['httpGet'] as Record<string, unknown>
      get['scheme'] ??= 'HTTP'
      get['path'] ??= '/'
    }
    if ('failureThreshold' in value) value['successThreshold'] ??= 1
    if ('image' in value) value['terminationMessagePath'] ??= '/dev/termination-log'
  })
  return copy
}

function visit(value: unknown, change: (map: Record<string, unknown>) => void): void {
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value)) change(value as Record<string, unknown>)
  for (const each of Object.values(value)) visit(each, change)
}
