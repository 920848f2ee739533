import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import { parseInjectorSettings } from '../../src/injector/parse-settings.ts'
import { contextOf, podOf, prefixed } from './contexts.ts'

type Texts = Readonly<Record<string, string>>

/** Injects a pod with these annotations below those of its namespace and of the settings. */
const inject = (pod: Texts, { settings = {}, namespace = {} }: Record<string, Texts>) =>
  injectPod(
    podOf(pod),
    contextOf({
      settings: parseInjectorSettings({ defaults: settings }, '1.2.3'),
      namespace: { annotations: prefixed(namespace) },
    }),
  )

const CAPS = {
  'max-percent': '5%',
  'max-duration': '10m',
  'max-active': '3',
  'guard-error-rate': '10%',
  'guard-window': '30s',
  'allow-faults': 'delay, abort',
}

describe('a limit of the settings is a ceiling', () => {
  it.each([
    ['max-percent', '100%', '5%'],
    ['max-percent', '5.1', '5%'],
    ['max-duration', '24h', '10m'],
    ['max-active', '4', '3'],
    ['guard-error-rate', 'off', '10%'],
    ['guard-error-rate', '11%', '10%'],
    ['guard-window', '1s', '30s'],
    ['guard-window', '1h', '30s'],
    ['allow-faults', 'delay,reset', 'delay, abort'],
  ])('so that %s: %s is denied, on the pod as on the namespace', (key, value, ceiling) => {
    const says = `the limit set by the settings of the injector is "${ceiling}"; use a stricter value`
    const denial = { kind: 'denied', reason: 'above_ceiling' }
    const pod = inject({ [key]: value }, { settings: CAPS })
    expect(pod).toMatchObject({ ...denial, message: expect.stringContaining(says) as unknown })
    const namespace = inject({}, { settings: CAPS, namespace: { [key]: value } })
    expect(namespace).toMatchObject({
      ...denial,
      message: expect.stringContaining(
        `squall.dev/${key} of the namespace "tools" is "${value}": ${says}`,
      ) as unknown,
    })
  })

  it('so that a pod can be stricter, and no looser than its namespace', () => {
    const strict = {
      'max-percent': '1%',
      'max-duration': '9m',
      'max-active': '1',
      'guard-error-rate': '0%',
      'guard-window': '0.5m',
      'allow-faults': 'abort',
    }
    expect(argsOf(inject(strict, { settings: CAPS }))).toMatchObject({
      'max-percent': '1%',
      'max-active': '1',
      'allow-faults': 'abort',
    })
    expect(
      inject({ 'max-percent': '4%' }, { settings: CAPS, namespace: { 'max-percent': '2%' } }),
    ).toMatchObject({
      message: expect.stringContaining('the limit set by the namespace "tools" is "2%"') as unknown,
    })
  })

  it('so that lists of what no rule touches grow', () => {
    const injected = inject(
      { 'deny-tools': 'refund', 'exclude-paths': '/c' },
      {
        settings: { 'deny-tools': 'pay_*', 'exclude-paths': '/a' },
        namespace: { 'deny-tools': 'delete_*', 'exclude-paths': '/b' },
      },
    )
    expect(argsOf(injected)).toMatchObject({
      'deny-tools': 'pay_*,delete_*,refund',
      'exclude-paths': '/a,/b,/c',
    })
  })
})

/** Returns the options of the sidecar in an injected pod. */
function argsOf(injection: ReturnType<typeof injectPod>): Texts {
  if (injection.kind !== 'injected') throw new Error(injection.message)
  const { containers, initContainers } = injection.pod.spec ?? {}
  const all = [...(containers ?? []), ...(initContainers ?? [])]
  const args = all.find(({ name }) => name === 'squall')?.args ?? []
  return Object.fromEntries(
    args.flatMap((arg, i) => (arg.startsWith('--') ? [[arg.slice(2), args[i + 1] ?? '']] : [])),
  )
}
