import { describe, expect, it } from 'vitest'
import { parseAppProbesJson } from '../../../../src/admin/probes/app-probe.ts'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Container, Probe } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

const ports = [{ name: 'mcp', containerPort: 3000 }]

function injected(
  app: Partial<Container>,
  annotations: Readonly<Record<string, string>> = {},
): { readonly app: Container | undefined; readonly probes: Record<string, unknown> } {
  const injection = injectPod(
    podOf(annotations, { containers: [{ name: 'app', ports, ...app }] }),
    contextOf(),
  )
  if (injection.kind !== 'injected') throw new Error(injection.message)
  const { containers, initContainers } = injection.pod.spec ?? {}
  const sidecar = initContainers?.find(({ name }) => name === 'squall')
  const text = sidecar?.env?.find(({ name }) => name === 'SQUALL_APP_PROBES')?.value
  return {
    app: containers?.find(({ name }) => name === 'app'),
    probes: text === undefined ? {} : (JSON.parse(expanded(text)) as Record<string, unknown>),
  }
}

/** Expands a value as the kubelet does: two dollars become one; `$(NAME)` would be a variable. */
function expanded(text: string): string {
  expect(text.replaceAll('$$', '')).not.toMatch(/\$\(/)
  return text.replaceAll('$$', '$')
}

describe('a probe of a taken port', () => {
  it.each<[string, Probe, unknown]>([
    [
      'by name',
      { httpGet: { path: '/h', port: 'mcp', scheme: 'HTTPS' }, timeoutSeconds: 7 },
      { httpGet: { path: '/h', port: 3000, scheme: 'HTTPS' }, timeoutSeconds: 7 },
    ],
    ['by number', { tcpSocket: { port: 3000 } }, { tcpSocket: { port: 3000 } }],
    ['by number in text', { tcpSocket: { port: '3000' } }, { tcpSocket: { port: 3000 } }],
    ['of gRPC', { grpc: { port: 3000, service: 'a.B' } }, { grpc: { port: 3000, service: 'a.B' } }],
    [
      'with what would be a variable in it',
      { httpGet: { path: '/$(POD_IP)$$', port: 3000 } },
      { httpGet: { path: '/$(POD_IP)$$', port: 3000 } },
    ],
  ])('%s is made by the sidecar instead', (_, probe, expected) => {
    const tls = probe.httpGet?.scheme === 'HTTPS'
    const { app, probes } = injected(
      { livenessProbe: { periodSeconds: 9, ...probe } },
      tls ? { 'upstream-tls': 'insecure-skip-verify', 'tls-secret': 'mcp-tls' } : {},
    )
    const { httpGet: _http, tcpSocket: _tcp, grpc: _grpc, ...rest } = probe
    expect(app?.livenessProbe).toEqual({
      periodSeconds: 9,
      ...rest,
      httpGet: { path: '/app-health/app/livez', port: 15390 },
    })
    expect(probes).toEqual({ 'app/livez': expected })
    // The sidecar itself parses the same probes.
    expect(parseAppProbesJson(JSON.stringify(probes), '10.1.2.3')).toHaveLength(1)
  })

  it.each<[string, Probe]>([
    ['another port', { httpGet: { port: 9090 } }],
    ['another host', { httpGet: { port: 3000, host: '10.0.0.1' } }],
    ['a command', { exec: { command: ['true'] } }],
    ['a name that nothing has', { httpGet: { port: 'web' } }],
  ])('of %s stays as it is', (_, probe) => {
    const { app, probes } = injected({ startupProbe: probe })
    expect(app?.startupProbe).toEqual(probe)
    expect(probes).toEqual({})
  })

  it('is looked at in hooks, too', () => {
    const lifecycle = {
      postStart: { httpGet: { path: '/warm', port: 'mcp' } },
      preStop: { exec: { command: ['sleep', '5'] } },
    }
    const { app, probes } = injected({ lifecycle })
    expect(app?.lifecycle?.postStart?.httpGet?.path).toBe('/app-health/app/poststart')
    expect(app?.lifecycle?.preStop).toEqual(lifecycle.preStop)
    expect(probes).toEqual({ 'app/poststart': { httpGet: { path: '/warm', port: 3000 } } })
  })

  it('is made by the sidecar for each taken port', () => {
    const { app, probes } = injected(
      {
        ports: [...ports, { name: 'health', containerPort: 8080 }],
        livenessProbe: { httpGet: { path: '/live', port: 'health' } },
        readinessProbe: { tcpSocket: { port: 'mcp' } },
      },
      { ports: 'mcp,health' },
    )
    expect(app?.livenessProbe).toEqual({ httpGet: { path: '/app-health/app/livez', port: 15390 } })
    expect(app?.readinessProbe?.httpGet?.path).toBe('/app-health/app/readyz')
    expect(probes).toEqual({
      'app/livez': { httpGet: { path: '/live', port: 8080 } },
      'app/readyz': { tcpSocket: { port: 3000 } },
    })
  })

  it('stays as it is where that was asked for', () => {
    const probe = { httpGet: { port: 'mcp' } }
    const { app, probes } = injected({ readinessProbe: probe }, { 'rewrite-probes': 'false' })
    expect(app?.readinessProbe).toEqual(probe)
    expect(probes).toEqual({})
  })

  it('uses the number in mode port, since its name is not there any more', () => {
    const { app, probes } = injected(
      { readinessProbe: { httpGet: { port: 'mcp' } } },
      { mode: 'port' },
    )
    expect(app?.readinessProbe).toEqual({ httpGet: { port: 3000 } })
    expect(app?.ports).toEqual([{ containerPort: 3000 }])
    expect(probes).toEqual({})
  })
})

describe('a server that is a native sidecar', () => {
  const mcp = { name: 'mcp', restartPolicy: 'Always', ports }
  const before = { name: 'prepare' }
  const spec = (server: Partial<Container>) => ({
    initContainers: [before, { ...mcp, ...server }, { name: 'migrate' }],
    containers: [{ name: 'agent' }],
  })
  const order = (server: Partial<Container>, minor = 33) => {
    const pod = podOf({ container: 'mcp', 'native-sidecar': 'true' }, spec(server))
    const result = injectPod(pod, contextOf({ minor }))
    if (result.kind !== 'injected') throw new Error(JSON.stringify(result))
    return result.pod.spec?.initContainers?.map(({ name }) => name)
  }

  it('starts after the sidecar that performs its probes, or it would wait forever', () => {
    const first = ['prepare', 'squall-redirect', 'squall', 'mcp', 'migrate']
    expect(order({ startupProbe: { tcpSocket: { port: 'mcp' } } })).toEqual(first)
    expect(order({ lifecycle: { postStart: { httpGet: { port: 3000 } } } })).toEqual(first)
    const last = ['prepare', 'mcp', 'migrate', 'squall-redirect', 'squall']
    expect(order({ startupProbe: { exec: { command: ['true'] } } })).toEqual(last)
    // Nothing in the pod waits until it is ready.
    expect(order({ readinessProbe: { tcpSocket: { port: 'mcp' } } })).toEqual(last)
  })

  it('is denied beside a plain sidecar, which starts after it', () => {
    const probe = { startupProbe: { tcpSocket: { port: 3000 } } }
    const pod = podOf({ container: 'mcp', 'native-sidecar': 'false' }, spec(probe))
    const result = injectPod(pod, contextOf())
    expect(result).toMatchObject({ kind: 'denied', reason: 'native_sidecar' })
    expect(result).toHaveProperty(
      'message',
      'the init container mcp would wait for a probe that a plain sidecar performs later: use a native sidecar: squall.dev/native-sidecar: "true" from Kubernetes 1.29 on',
    )
    const plain = podOf({ container: 'mcp', 'native-sidecar': 'false' }, spec({}))
    expect(injectPod(plain, contextOf())).toMatchObject({ kind: 'injected' })
  })
})
