import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Injection, InjectionContext } from '../../src/injector/injection.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

/** The pod with its sidecar: what the sidecar is started with, and the warnings. */
function inject(
  pod: Pod,
  context: InjectionContext = contextOf(),
): { args: string; warnings: string } {
  const injection: Injection = injectPod(pod, context)
  if (injection.kind !== 'injected') throw new Error(injection.message)
  const { containers, initContainers } = injection.pod.spec ?? {}
  const sidecar = [...(containers ?? []), ...(initContainers ?? [])].find(
    ({ name }) => name === 'squall',
  )
  return { args: sidecar?.args?.join(' ') ?? '', warnings: injection.warnings.join() }
}

describe('production', () => {
  it('that its owner opened gets faults', () => {
    const namespace = {
      labels: { environment: 'prod' },
      annotations: { 'squall.dev/allow-production': 'true' },
    }
    const { args } = inject(podOf({ environment: 'x' }), contextOf({ namespace }))
    expect(args).toContain('--environment production --allow-production')
  })

  it('that ENVIRONMENT of the upstream names has the sidecar without faults', () => {
    const app = (value: string): Pod =>
      podOf(
        { environment: 'staging' },
        {
          containers: [
            {
              name: 'app',
              ports: [{ containerPort: 3000 }],
              env: [{ name: 'ENVIRONMENT', value }],
            },
          ],
        },
      )
    const { args, warnings } = inject(app('prod-eu'))
    expect(args).toContain('--environment production')
    expect(warnings).toContain('ENVIRONMENT of the container app, "prod-eu" counts as production')
    expect(inject(app('staging')).args).toContain('--environment staging')
  })

  it('that ENVIRONMENT of a native sidecar names counts, and that of a past step does not', () => {
    const env = [{ name: 'ENVIRONMENT', value: 'production' }]
    const first = (restartPolicy?: string): Pod =>
      podOf(
        { environment: 'staging' },
        { initContainers: [{ name: 'mcp', env, ...(restartPolicy && { restartPolicy }) }] },
      )
    const { args, warnings } = inject(first('Always'))
    expect(args).toContain('--environment production')
    expect(warnings).toContain(
      'ENVIRONMENT of the container mcp, "production" counts as production',
    )
    expect(inject(first()).args).toContain('--environment staging')
  })

  it('that is allowed everywhere has the sidecar, and no faults without its owner', () => {
    const { settings } = contextOf()
    const allowing = { ...settings, productionAction: 'allow' } as const
    const closed = contextOf({ settings: allowing, namespace: { name: 'shop-live' } })
    const { args } = inject(podOf(), closed)
    expect(args).toContain('--environment production')
    expect(args).not.toContain('--allow-production')
  })

  it('is skipped where it is to be ignored', () => {
    const { settings } = contextOf()
    const ignoring = { ...settings, productionAction: 'ignore' } as const
    const context = contextOf({
      settings: ignoring,
      namespace: { labels: { environment: 'live' } },
    })
    expect(injectPod(podOf(), context)).toMatchObject({ kind: 'untouched', reason: 'production' })
  })

  it('is for the sidecar what it is for the injector', () => {
    const { settings } = contextOf()
    const own = { ...settings, productionEnvironments: ['kund*'] }
    const args = (name: string): string =>
      inject(podOf({ environment: name }), contextOf({ settings: own })).args
    expect(args('kund-1')).toContain('--environment production')
    expect(args('kund-1')).not.toContain('--production-names')
    expect(args('live')).toContain('--environment live --production-names kund*')
  })

  it('that a pod calls itself has the sidecar without faults, and a reason', () => {
    const { args, warnings } = inject(podOf({ environment: 'PROD' }))
    expect(args).toContain('--environment production')
    expect(args).not.toContain('--allow-production')
    expect(warnings).toMatch(/but never act/)
  })
})
