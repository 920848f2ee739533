import { describe, expect, it } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { InjectionContext } from '../../src/injector/injection.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf } from './contexts.ts'

interface Case {
  readonly what: string
  readonly pod: Pod
  readonly context?: InjectionContext
  readonly reason: string
  readonly says: RegExp
}

const UNTOUCHED: readonly Case[] = [
  {
    what: 'nobody asked',
    pod: { metadata: {}, spec: { containers: [] } },
    reason: 'not_requested',
    says: /add the annotation squall\.dev\/inject: "true"/,
  },
  {
    what: 'the label says no and the annotation yes',
    pod: {
      metadata: {
        labels: { 'squall.dev/inject': 'false' },
        annotations: { 'squall.dev/inject': 'true' },
      },
    },
    reason: 'opted_out',
    says: /inject is false/,
  },
  {
    what: 'the namespace forbids it',
    pod: podOf(),
    context: contextOf({ namespace: { labels: { 'squall.dev/injection': 'disabled' } } }),
    reason: 'namespace_disabled',
    says: /label squall\.dev\/injection=disabled/,
  },
  {
    what: 'a node runs it by itself',
    pod: podOf({ 'kubernetes.io/config.mirror': 'abc' }),
    reason: 'mirror_pod',
    says: /manifest of the pod on the node/,
  },
  {
    what: 'it is for Windows',
    pod: podOf({}, { os: { name: 'windows' } }),
    reason: 'windows',
    says: /runs on Windows/,
  },
  {
    what: 'it is for Windows by its node',
    pod: podOf({}, { nodeSelector: { 'kubernetes.io/os': 'windows' } }),
    reason: 'windows',
    says: /runs on Windows/,
  },
]

describe('a pod is left as it is when', () => {
  it.each(UNTOUCHED)('$what', ({ pod, context = contextOf(), reason, says }) => {
    const injection = injectPod(pod, context)
    expect(injection).toMatchObject({ kind: 'untouched', reason })
    expect('message' in injection && injection.message).toMatch(says)
  })
})
