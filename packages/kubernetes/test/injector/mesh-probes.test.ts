import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection } from '../../src/injector/injection.ts'
import type { Container, Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

// Istio's webhook leads the httpGet probes that it finds to its agent, by the same paths as the
// sidecar's, at port 15020, and adds a container that remembers how they asked. Where it came after
// the injector, a second injection took those probes for its own, put the upstream's back, and left
// kubelet with an upstream that the mesh does not let it ask. Restored is now what has the path and
// the port of the sidecar.
const AGENT = 15020

/** Stands in for what Istio's webhook does. */
function meshed(pod: Pod): Pod {
  const containers = (pod.spec?.containers ?? []).map((each): Container => {
    const { readinessProbe } = each
    if (!readinessProbe?.httpGet) return each
    const httpGet = { path: `/app-health/${each.name}/readyz`, port: AGENT }
    return { ...each, readinessProbe: { ...readinessProbe, httpGet } }
  })
  return { ...pod, spec: { ...pod.spec, containers: [...containers, { name: 'istio-proxy' }] } }
}

function injected(pod: Pod): Extract<Injection, { kind: 'injected' }> {
  const injection = injectPod(pod, contextOf())
  if (injection.kind !== 'injected') throw new Error(injection.message)
  return injection
}

function probeOf(pod: Pod): unknown {
  return pod.spec?.containers?.find(({ name }) => name === 'app')?.readinessProbe?.httpGet
}

function asks(pod: Pod): unknown {
  const sidecar = pod.spec?.initContainers?.find(({ name }) => name === 'squall')
  const text = sidecar?.env?.find(({ name }) => name === 'SQUALL_APP_PROBES')?.value
  return text === undefined ? undefined : JSON.parse(text)
}

describe('a probe that a mesh has led to its own agent', () => {
  it('stays there when the injector comes again, and the sidecar continues to make the first one', () => {
    const first = injected(podOf())
    expect(first.mode).toBe('redirect')
    expect(probeOf(first.pod)).toEqual({ path: '/app-health/app/readyz', port: 15390 })

    const again = injected(meshed(first.pod))
    expect(again.mode).toBe('port')
    expect(probeOf(again.pod)).toEqual({ path: '/app-health/app/readyz', port: AGENT })
    // The agent asks by the path that it found.
    expect(asks(again.pod)).toEqual({ 'app/readyz': { httpGet: { path: '/healthz', port: 3000 } } })

    const third = injected(again.pod)
    expect(third.pod).toEqual(again.pod)
  })

  it('stays there in mode port, where only the name of its port was replaced', () => {
    const first = injected(podOf({ mode: 'port' }))
    expect(probeOf(first.pod)).toEqual({ path: '/healthz', port: 3000 })
    const again = injected(meshed(first.pod))
    expect(probeOf(again.pod)).toEqual({ path: '/app-health/app/readyz', port: AGENT })
  })

  it('has the sidecar start before a native sidecar that waits for it, again', () => {
    const ports = [{ name: 'mcp', containerPort: 3000 }]
    const startupProbe = { httpGet: { path: '/healthz', port: 'mcp' } }
    const server = { name: 'mcp', restartPolicy: 'Always', ports, startupProbe }
    const spec = { initContainers: [server], containers: [{ name: 'agent' }] }
    const asked = { container: 'mcp', mode: 'bind', 'native-sidecar': 'true' }
    const first = injected(podOf(asked, spec))
    const names = (pod: Pod) => pod.spec?.initContainers?.map(({ name }) => name)
    expect(names(first.pod)).toEqual(['squall', 'mcp'])
    const initContainers = (first.pod.spec?.initContainers ?? []).map((each): Container => {
      const { startupProbe: probe } = each
      if (!probe?.httpGet) return each
      return { ...each, startupProbe: { httpGet: { ...probe.httpGet, port: AGENT } } }
    })
    const containers = [{ name: 'agent' }, { name: 'istio-proxy' }]
    const pod = { ...first.pod, spec: { ...first.pod.spec, initContainers, containers } }
    expect(names(injected(pod).pod)).toEqual(['squall', 'mcp'])
  })

  it('is left alone when the mesh came first', () => {
    const { pod, mode } = injected(meshed(podOf()))
    expect(mode).toBe('port')
    expect(probeOf(pod)).toEqual({ path: '/app-health/app/readyz', port: AGENT })
    expect(asks(pod)).toBeUndefined()
  })

  it('is denied with redirect, once the mesh is there', () => {
    const first = injected(podOf({ mode: 'redirect' }))
    expect(injectPod(meshed(first.pod), contextOf())).toMatchObject({
      kind: 'denied',
      reason: 'mesh',
    })
  })

  it('is restored where it is the own one of an injector with other settings', () => {
    const { settings } = contextOf()
    const other = injectPod(podOf(), contextOf({ settings: { ...settings, adminPort: 15391 } }))
    if (other.kind !== 'injected') throw new Error(other.message)
    expect(probeOf(other.pod)).toEqual({ path: '/app-health/app/readyz', port: 15391 })
    const again = injected(other.pod)
    expect(probeOf(again.pod)).toEqual({ path: '/app-health/app/readyz', port: 15390 })
    expect(asks(again.pod)).toEqual({ 'app/readyz': { httpGet: { path: '/healthz', port: 3000 } } })
  })
})
