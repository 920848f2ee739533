import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import { jsonPatch } from '../../src/injector/json-patch.ts'
import { parsePod } from '../../src/injector/pod.ts'
import { contextOf, podOf, uninjected } from './contexts.ts'
import { pods } from './pod-arbitrary.ts'
import { rounds } from '../../../../test/support/rounds.ts'

const junk = fc.oneof(
  fc.constantFrom<unknown>(null, true, -1, 1.5, 1e300, '', 'x', [], {}, [null], {
    __proto__: null,
  }),
  fc.json({ maxDepth: 2 }).map((text) => JSON.parse(text) as unknown),
)

/** The value with something else at a place that is chosen by numbers. */
function spoiled(value: unknown, way: readonly number[], wrong: unknown): unknown {
  const [step, ...rest] = way
  if (step === undefined || typeof value !== 'object' || value === null) return wrong
  const keys = Object.keys(value)
  if (keys.length === 0) return wrong
  const key = keys[step % keys.length]!
  const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>
  copy[key] = spoiled(copy[key], rest, wrong)
  return copy
}

describe('something that is not quite a pod', () => {
  it('is denied, or injected as well as taken out again', () => {
    fc.assert(
      fc.property(
        pods,
        fc.array(fc.nat(20), { minLength: 1, maxLength: 6 }),
        junk,
        (pod, way, wrong) => {
          const parsed = parsePod(spoiled(pod, way, wrong))
          if (!parsed.ok) {
            expect(parsed.message).toMatch(/ (must be|has more than) /)
            return
          }
          const injection = injectPod(parsed.pod, contextOf())
          if (injection.kind === 'injected') {
            expect(uninjected(injection.pod)).toEqual(parsed.pod)
            jsonPatch(parsed.pod, injection.pod)
          } else {
            expect(injection.message).not.toMatch(/\n/)
          }
        },
      ),
      { numRuns: rounds(150, 500) },
    )
  })

  it.each([
    ['no object', [], 'the pod must be an object'],
    ['no spec', {}, 'spec must be an object'],
    ['no containers', { spec: {} }, 'spec.containers must be a list'],
    [
      'a port in words',
      podOf({}, { containers: [{ name: 'a', ports: [{ containerPort: 'x' }] }] }),
      'spec.containers[0].ports[0].containerPort must be a port',
    ],
    [
      'an annotation that is a number',
      { metadata: { annotations: { a: 1 } }, spec: { containers: [] } },
      'metadata.annotations."a" must be text',
    ],
    [
      'far too many containers',
      { spec: { containers: Array.from({ length: 300 }, () => ({ name: 'a' })) } },
      'spec.containers has more than 256 elements',
    ],
  ])('gets the reason: %s', (_, value, message) => {
    expect(parsePod(value)).toEqual({ ok: false, message })
  })

  it('cannot make the injector write what was never injected', () => {
    const undo = {
      probes: { 'app/readyz': { httpGet: { port: 1 } } },
      annotations: { keep: 'other' },
    }
    const status = JSON.stringify({ mode: 'redirect', undo })
    const pod = podOf({ status, 'example.com/keep': 'mine' })
    const { metadata, spec } = uninjected(pod)
    // Only what still is as the injector leaves it is taken back.
    expect(spec).toEqual(pod.spec)
    expect(metadata?.annotations).toEqual({
      'squall.dev/inject': 'true',
      'example.com/keep': 'mine',
    })
  })
})
