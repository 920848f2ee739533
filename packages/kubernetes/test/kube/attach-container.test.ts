import { describe, expect, test } from 'vitest'
import {
  attachContainer,
  attachedContainers,
  type Attachment,
  detachContainer,
} from '../../src/kube/attach-container.ts'
import { readInjectedPod } from '../../src/kube/injected-pod.ts'
import { isKubeError } from '../../src/kube/kube-error.ts'

const WANTED: Attachment = {
  image: 'squall:1',
  pullPolicy: undefined,
  port: undefined,
  rulesText: 'rules: [] # $(POD_IP) and $5\n',
  forMs: 900_000,
  startBefore: new Date('2026-05-01T10:00:00Z'),
  rejectProduction: () => undefined,
  env: { SQUALL_ENVIRONMENT: 'staging' },
}
const APP = { name: 'app', ports: [{ name: 'mcp', containerPort: 3000 }] }

function pod(spec: object = {}, more: object = {}): Record<string, unknown> {
  return {
    metadata: { name: 'shop-1', namespace: 'shop' },
    spec: { containers: [APP], ...spec },
    status: { phase: 'Running' },
    ...more,
  }
}

function withAttached(state: object): Record<string, unknown> {
  const name = 'squall-attach-3'
  return pod(
    { ephemeralContainers: [{ name: 'debugger' }, { name, image: 'squall:0' }] },
    { status: { phase: 'Running', ephemeralContainerStatuses: [{ name, state }] } },
  )
}

test('the container has what it needs to redirect, and a bounded time', () => {
  const { name, container, ports } = attachContainer(pod(), WANTED)
  expect(name).toBe('squall-attach-1')
  expect(ports).toMatchObject([{ number: 3000, listen: 15300 }])
  expect(container).toMatchObject({
    name,
    image: 'squall:1',
    args: [
      'attached',
      '--port',
      '3000=15300',
      '--admin',
      '[::]:15390',
      '--for',
      '900000ms',
      '--start-before',
      '2026-05-01T10:00:00.000Z',
    ],
    securityContext: {
      allowPrivilegeEscalation: false,
      capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'SETUID', 'SETGID', 'KILL'] },
    },
  })
  // The API server refuses all of these here.
  for (const key of ['ports', 'livenessProbe', 'readinessProbe', 'lifecycle', 'resources']) {
    expect(container).not.toHaveProperty(key)
  }
})

test('the rules arrive as they are written, whatever Kubernetes replaces in values', () => {
  const { env } = attachContainer(pod(), WANTED).container
  const value = env.find(({ name }) => name === 'SQUALL_RULES_TEXT')?.value
  expect(value).toBe('rules: [] # $$(POD_IP) and $$5\n')
  expect(env).toContainEqual({ name: 'SQUALL_ENVIRONMENT', value: 'staging' })
})

test('paths that probes ask at the port are excluded from faults', () => {
  const containers = [
    {
      ...APP,
      livenessProbe: { httpGet: { path: '/healthz?deep=1', port: 'mcp' } },
      readinessProbe: { httpGet: { path: '/other', port: 8080 } },
      lifecycle: { preStop: { httpGet: { path: '/stop', port: 3000 } } },
    },
  ]
  const { probePaths, container } = attachContainer(pod({ containers }), WANTED)
  expect(probePaths).toEqual(['/healthz', '/stop'])
  expect(container['env']).toContainEqual({ name: 'SQUALL_EXCLUDE_PATHS', value: '/healthz,/stop' })
})

describe('nothing is attached to', () => {
  const probed = (livenessProbe: object): object => ({ containers: [{ ...APP, livenessProbe }] })
  test.each<[string, Record<string, unknown>, RegExp]>([
    ['a pod that does not run', pod({}, { status: { phase: 'Pending' } }), /the pod is Pending/],
    [
      'a pod that is being deleted',
      pod({}, { metadata: { deletionTimestamp: 'now' } }),
      /being deleted/,
    ],
    ['a pod with a sidecar', pod({ initContainers: [{ name: 'squall' }] }), /squall apply/],
    ['a pod with an attached one', withAttached({ running: {} }), /squall attach --undo/],
    ['one whose container has not started', withAttached({ waiting: {} }), /squall attach --undo/],
    ['the network of a node', pod({ hostNetwork: true }), /hostNetwork/],
    ['a mesh', pod({ containers: [APP, { name: 'istio-proxy' }] }), /istio-proxy.*mode port/],
    ['Windows', pod({ os: { name: 'windows' } }), /Windows/],
    ['Windows nodes', pod({ nodeSelector: { 'kubernetes.io/os': 'windows' } }), /Windows/],
    [
      'a static pod',
      pod({}, { metadata: { annotations: { 'kubernetes.io/config.mirror': 'x' } } }),
      /static/,
    ],
    ['a pod without ports', pod({ containers: [{ name: 'app' }] }), /declares a TCP port.*--port/],
    ['a port that gRPC probes ask', pod(probed({ grpc: { port: 3000 } })), /gRPC.*inject/],
    [
      'a probe whose path is no path',
      pod(probed({ httpGet: { path: '/a,/b', port: 3000 } })),
      /cannot be excluded/,
    ],
  ])('%s', (_, unfit, wrong) => {
    expect.assertions(2)
    try {
      attachContainer(unfit, WANTED)
    } catch (error) {
      expect(isKubeError(error, 'invalid')).toBe(true)
      expect((error as Error).message).toMatch(wrong)
    }
  })
})

describe('a container that was attached', () => {
  test('is ended by another one, of its image', () => {
    const found = withAttached({ running: {} })
    const [attached] = attachedContainers(found)
    const { name, container } = detachContainer(found, attached!)
    expect(name).toBe('squall-detach-1')
    expect(container).toMatchObject({ image: 'squall:0', args: ['redirect', '--release'] })
  })

  test('and has ended counts no more, but for the name of the next one', () => {
    const found = withAttached({ terminated: { exitCode: 0 } })
    expect(attachedContainers(found)).toEqual([])
    expect(attachContainer(found, WANTED).name).toBe('squall-attach-4')
    expect(readInjectedPod(found, 'squall.dev/')).toBeUndefined()
  })

  test('is known to squall status while it runs', () => {
    const found = readInjectedPod(withAttached({ running: {} }), 'squall.dev/')
    expect(found).toMatchObject({ mode: 'attached', sidecar: 'running', adminPort: 15390 })
  })
})

test('a pod on Windows does not ask for a sidecar', () => {
  const metadata = { name: 'shop-1', annotations: { 'squall.dev/inject': 'true' } }
  const windows = { nodeSelector: { 'kubernetes.io/os': 'windows' } }
  expect(readInjectedPod(pod({}, { metadata }), 'squall.dev/')).toMatchObject({ sidecar: 'absent' })
  expect(readInjectedPod(pod(windows, { metadata }), 'squall.dev/')).toBeUndefined()
})

test('nothing is attached to a server with TLS, which the sidecar could not read', () => {
  const probe = (port: number) => ({ httpGet: { port, scheme: 'HTTPS' } })
  const serving = (port: number) => pod({ containers: [{ ...APP, readinessProbe: probe(port) }] })
  expect(() => attachContainer(serving(3000), WANTED)).toThrow(
    'nothing was attached: your MCP server serves TLS: app/readyz uses port 3000 with scheme HTTPS; inject the sidecar with squall.dev/upstream-tls instead',
  )
  expect(attachContainer(serving(9443), WANTED).ports).toHaveLength(1)
})
