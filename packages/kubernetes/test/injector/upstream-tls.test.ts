import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection } from '../../src/injector/injection.ts'
import type { Container, Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf, uninjected } from './contexts.ts'

// An upstream that serves TLS was cut off in silence: the sidecar sent it plain HTTP, and the
// probe, which the admin port makes by HTTPS, went on passing. Such a pod is denied now, with what
// to write.
const asked = { path: '/healthz', port: 'mcp', scheme: 'HTTPS' }
const secure: Container = {
  name: 'app',
  ports: [{ name: 'mcp', containerPort: 3000 }],
  readinessProbe: { httpGet: asked },
}
const volumes = [{ name: 'authorities' }]
const both = { 'upstream-tls': 'insecure-skip-verify', 'tls-secret': 'mcp-tls' }
const verify = {
  'upstream-tls': 'verify',
  'upstream-servername': 'mcp.shop.svc',
  'tls-secret': 'mcp-tls',
}

function inject(annotations: Readonly<Record<string, string>>, app = secure): Injection {
  return injectPod(podOf(annotations, { containers: [app], volumes }), contextOf())
}

function sidecarOf(injection: Injection): { readonly pod: Pod; readonly sidecar: Container } {
  if (injection.kind !== 'injected') throw new Error(JSON.stringify(injection))
  const sidecar = injection.pod.spec?.initContainers?.find(({ name }) => name === 'squall')
  return { pod: injection.pod, sidecar: sidecar! }
}

describe('an upstream that serves TLS', () => {
  it.each<[string, Container]>([
    ['a probe', secure],
    ['a hook', { ...secure, readinessProbe: null, lifecycle: { preStop: { httpGet: asked } } }],
  ])('is found by %s with scheme HTTPS, and denied with what to write', (_, app) => {
    for (const mode of ['redirect', 'port', 'bind']) {
      const injection = inject({ mode }, app)
      expect(injection).toMatchObject({ kind: 'denied', reason: 'upstream_tls' })
      const message = injection.kind === 'denied' ? injection.message : ''
      expect(message).toMatch(/^your MCP server serves TLS: app\/(readyz|prestop) uses port 3000/)
      expect(message).toMatch(/squall\.dev\/upstream-tls: verify with squall\.dev\/upstream-ca/)
      expect(message).toMatch(/squall\.dev\/tls-secret/)
    }
  })

  it('is none where the probe asks another port', () => {
    const readinessProbe = { httpGet: { ...asked, port: 9443 } }
    expect(inject({}, { ...secure, readinessProbe }).kind).toBe('injected')
  })

  it('is spoken to without checks where that is said, and clients are served its Secret', () => {
    const { pod, sidecar } = sidecarOf(inject(both))
    const args = sidecar.args?.join(' ') ?? ''
    expect(args).toContain('--upstream https://127.0.0.1:3000')
    expect(args).toContain('--upstream-insecure')
    expect(args).toContain('--tls-cert /etc/squall/tls/tls.crt --tls-key /etc/squall/tls/tls.key')
    const { volumes: has = [] } = pod.spec ?? {}
    expect(has).toContainEqual({ name: 'squall-tls', secret: { secretName: 'mcp-tls' } })
    const mount = { name: 'squall-tls', mountPath: '/etc/squall/tls', readOnly: true }
    expect(sidecar.volumeMounts).toContainEqual(mount)
    const before = podOf(both, { containers: [secure], volumes })
    expect(uninjected(pod)).toEqual(before)
  })

  const items = [{ key: 'ca.pem', path: 'ca.crt' }]
  it.each([
    ['configmap/ca/ca.pem', { configMap: { name: 'ca', items } }, 'squall-upstream-ca', 'ca.crt'],
    ['secret/ca/ca.pem', { secret: { secretName: 'ca', items } }, 'squall-upstream-ca', 'ca.crt'],
    ['volume/authorities/a/ca.pem', {}, 'authorities', 'a/ca.pem'],
  ])('is verified by %s', (source, from, name, file) => {
    const { pod, sidecar } = sidecarOf(inject({ ...verify, 'upstream-ca': source }))
    expect(sidecar.args?.join(' ')).toContain(
      `--upstream-servername mcp.shop.svc --upstream-ca /etc/squall/upstream-ca/${file}`,
    )
    expect(pod.spec?.volumes).toContainEqual({ name, ...from })
    const mount = { name, mountPath: '/etc/squall/upstream-ca', readOnly: true }
    expect(sidecar.volumeMounts).toContainEqual(mount)
  })

  it.each<[string, Readonly<Record<string, string>>, RegExp]>([
    ['no Secret for clients', { 'upstream-tls': 'verify' }, /would serve plain HTTP.*tls-secret/],
    [
      'no name to verify',
      { 'upstream-tls': 'verify', 'tls-secret': 'a' },
      /by an address, which certificates do not name: .*upstream-servername/,
    ],
    [
      'a volume that is not there',
      { ...verify, 'upstream-ca': 'volume/other/ca.crt' },
      /names the volume other, which the pod does not have: use one of authorities/,
    ],
    [
      'certificates that nothing verifies',
      { ...both, 'upstream-ca': 'secret/a/b' },
      /has no effect/,
    ],
    ['a way out of the directory', { ...verify, 'upstream-ca': 'secret/a/..' }, /NAME\/KEY/],
    ['a deep way out', { ...verify, 'upstream-ca': 'volume/a/b/../../c' }, /volume\/NAME\/PATH/],
    ['an address as name', { ...verify, 'upstream-servername': '10.0.0.1' }, /write a DNS name/],
    ['another word', { 'upstream-tls': 'off' }, /use one of verify, insecure-skip-verify/],
  ])('is denied with %s', (_, annotations, says) => {
    const injection = inject(annotations)
    expect(injection.kind === 'denied' ? injection.message : '').toMatch(says)
  })
})
