import { describe, expect, it } from 'vitest'
import { servicePorts } from '../../src/injector/check-services.ts'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection, InjectionContext } from '../../src/injector/injection.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

type Injected = Extract<Injection, { kind: 'injected' }>

function serviceOf(name: string, spec: object): ReturnType<typeof servicePorts> {
  return servicePorts({ metadata: { name }, spec })
}

function inject(pod: Pod, context: InjectionContext = contextOf()): Injected {
  const injection = injectPod(pod, context)
  if (injection.kind === 'injected') return injection
  throw new Error(`${injection.reason}: ${injection.message}`)
}

describe('Services in mode port', () => {
  const pod = podOf({ mode: 'port' })
  const service = (targetPort: number | string | undefined, selector = { app: 'tools' }) =>
    contextOf({ services: [serviceOf('tools', { selector, ports: [{ port: 3000, targetPort }] })] })

  it.each([
    [
      'by number',
      service(3000),
      /Service "tools" maps port 3000 to the numeric targetPort 3000, which bypasses Squall: write targetPort: mcp/,
    ],
    ['by leaving the target out', service(undefined), /bypasses Squall/],
    ['unseen', contextOf(), /cannot be checked/],
    [
      'by the addresses of pods',
      contextOf({
        services: [
          serviceOf('tools', {
            selector: { app: 'tools' },
            clusterIP: 'None',
            ports: [{ port: 80, targetPort: 'mcp' }],
          }),
        ],
      }),
      /Service "tools" is headless, so its clients connect directly to port 3000 of your MCP server and bypass Squall/,
    ],
  ])('that lead to the upstream %s are warned of', (_, context, says) => {
    expect(inject(pod, context).warnings.join()).toMatch(says)
  })

  it.each([
    ['by name', service('mcp')],
    ['for other pods', service(3000, { app: 'others' })],
  ])('that lead to the upstream %s are not', (_, context) => {
    expect(inject(pod, context).warnings).toEqual([])
  })
})

describe('warnings', () => {
  it('are kept in the status, bounded, since nobody sees those of pods that controllers make', () => {
    const ports = Array.from({ length: 20 }, (_, i) => ({ port: i + 1, targetPort: 3000 }))
    const services = Array.from({ length: 20 }, (_, i) =>
      serviceOf(`${'long'.repeat(20)}${i}`, { selector: { app: 'tools' }, ports }),
    )
    const { pod, warnings } = inject(podOf({ mode: 'port' }), contextOf({ services }))
    const text = pod.metadata?.annotations?.['squall.dev/status'] ?? ''
    const status = JSON.parse(text) as { readonly warnings: readonly string[] }
    expect(status.warnings).toEqual(warnings)
    expect(text.length).toBeLessThan(8_000)
    const again = inject(pod, contextOf({ services }))
    expect(again.pod).toEqual(pod)
    const { pod: quiet } = inject(podOf())
    expect(quiet.metadata?.annotations?.['squall.dev/status']).not.toContain('warnings')
  })
})

describe('mode bind', () => {
  it('warns when nothing says that the upstream listens on loopback', () => {
    expect(inject(podOf({ mode: 'bind' })).warnings.join()).toMatch(/EADDRINUSE/)
    const containers = [
      { name: 'app', ports: [{ containerPort: 80 }], env: [{ name: 'HOST', value: '127.0.0.1' }] },
    ]
    expect(inject(podOf({ mode: 'bind' }, { containers })).warnings).toEqual([
      expect.stringMatching(/port 80 depends on the container runtime/),
    ])
    const env = [{ name: 'HOST', value: '127.0.0.1' }]
    const native = { name: 'mcp', env, restartPolicy: 'Always' }
    expect(inject(podOf({ mode: 'bind' }, { initContainers: [native] })).warnings).toEqual([])
  })
})
