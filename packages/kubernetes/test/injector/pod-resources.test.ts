import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Container, Resources } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

// A sidecar whose requests are not its limits made each Guaranteed pod Burstable: its CPUs were no
// longer its own, and it was evicted sooner than before.
const guaranteed: Resources = {
  limits: { cpu: 2, memory: '1Gi' },
  requests: { cpu: '2000m', memory: '1024Mi' },
}

interface Outcome {
  readonly all: readonly (Resources | null | undefined)[]
  readonly message: string
  readonly warnings: readonly string[]
}

function inject(
  resources: Resources | undefined,
  annotations: Readonly<Record<string, string>> = {},
  spec: object = {},
): Outcome {
  const app: Container = {
    name: 'app',
    ports: [{ name: 'mcp', containerPort: 3000 }],
    ...(resources && { resources }),
  }
  const injection = injectPod(podOf(annotations, { containers: [app], ...spec }), contextOf())
  if (injection.kind !== 'injected') return { all: [], message: injection.message, warnings: [] }
  const all = (injection.pod.spec?.initContainers ?? []).map((each) => each.resources)
  return { all, message: '', warnings: injection.warnings }
}

const burstable = {
  requests: { cpu: '10m', memory: '32Mi' },
  limits: { cpu: '1', memory: '256Mi' },
}
const half = { cpu: '500m', memory: '256Mi' }

describe('the class of a pod', () => {
  it('stays Guaranteed, by the sidecar and by the init container', () => {
    const equal = { requests: half, limits: half }
    expect(inject(guaranteed).all).toEqual([equal, equal])
    const fractions = {
      limits: { cpu: 0.7, memory: '1.1G' },
      requests: { cpu: '700m', memory: '1100M' },
    }
    expect(inject(fractions, { qos: 'guaranteed' }).all).toEqual([equal, equal])
    // A request that is left out is the limit.
    expect(inject({ limits: guaranteed.limits! }).all).toEqual([equal, equal])
  })

  it.each<[string, Resources | undefined]>([
    ['no resources', undefined],
    ['other requests', { ...guaranteed, requests: { cpu: '1', memory: '1Gi' } }],
    ['no limit of memory', { limits: { cpu: '1' } }],
  ])('that is not Guaranteed, with %s, costs no more than needed', (_, resources) => {
    expect(inject(resources).all).toEqual([burstable, burstable])
  })

  it('is given up where that is said', () => {
    expect(inject(guaranteed, { qos: 'burstable' }).all).toEqual([burstable, burstable])
  })

  it('is rejected where it is requested and impossible', () => {
    expect(inject(undefined, { qos: 'guaranteed' }).message).toMatch(
      /qos is guaranteed, but the pod is not Guaranteed: .*set requests equal to limits/,
    )
  })

  it('is kept within what annotations say', () => {
    const annotations = { 'cpu-limit': '200m', 'memory-limit': '192Mi' }
    const own = { cpu: '200m', memory: '192Mi' }
    expect(inject(guaranteed, annotations).all[0]).toEqual({ requests: own, limits: own })
  })
})

describe('resources of the pod itself', () => {
  const pool = (memory: string, requests = memory): object => ({
    resources: { limits: { cpu: '2', memory }, requests: { cpu: '2', memory: requests } },
  })

  it('are shared where the containers leave room', () => {
    const { all, warnings } = inject(undefined, {}, pool('1Gi'))
    expect(all[0]).toEqual(burstable)
    expect(warnings.join()).toMatch(
      /shares the resources of the pod \(spec\.resources\).*leave 32Mi/,
    )
  })

  it('are shared without a request where the containers request all of them', () => {
    const { all } = inject({ requests: { cpu: '1', memory: '1Gi' } }, {}, pool('1Gi'))
    expect(all[0]?.requests).toEqual({ cpu: '10m', memory: '0' })
  })

  it('leave room for fractions that fill them exactly', () => {
    const resources = { limits: { cpu: '0.3', memory: '1Gi' } }
    const { all } = inject({ requests: { cpu: '0.1' } }, { 'cpu-request': '200m' }, { resources })
    expect(all[0]?.requests).toMatchObject({ cpu: '200m' })
  })

  it('bound the limits of the sidecar', () => {
    const small = { resources: { limits: { cpu: '500m', memory: '200Mi' } } }
    expect(inject(undefined, {}, small).all[0]?.limits).toEqual({ cpu: '500m', memory: '200Mi' })
  })

  it('refuse a pod that has too little of them', () => {
    expect(inject(undefined, {}, pool('64Mi')).message).toMatch(
      /may use 64Mi of memory in total \(spec\.resources\), but the sidecar requires 128Mi .*raise spec\.resources\.limits\.memory/,
    )
  })
})
