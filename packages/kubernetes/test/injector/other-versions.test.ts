/*
 * During an upgrade, pods, webhooks and programs have different versions. docs/guides/version-compatibility.md
 * says what works together.
 */
import { expect, test } from 'vitest'
import { injectPod } from '../../src/injector/inject-pod.ts'
import type { Pod } from '../../src/injector/pod.ts'
import { contextOf, podOf, uninjected } from './contexts.ts'

const STATUS = 'squall.dev/status'

function injected(pod: Pod): Pod {
  const injection = injectPod(pod, contextOf())
  if (injection.kind === 'injected') return injection.pod
  throw new Error(`${injection.reason}: ${injection.message}`)
}

test('a sidecar of a later webhook is removed, whatever else its status has', () => {
  const pod = injected(podOf())
  const annotations = pod.metadata!.annotations as Record<string, string>
  const status = JSON.parse(annotations[STATUS]!) as { readonly undo: object }
  const later = {
    ...status,
    version: '9.0.0',
    shiny: { of: 'a later version' },
    undo: { ...status.undo, shiny: ['of a later version'] },
  }
  annotations[STATUS] = JSON.stringify(later)
  expect(uninjected(pod)).toEqual(podOf())
})

test('an annotation of a later version denies the pod by its name', () => {
  expect(injectPod(podOf({ shiny: 'true' }), contextOf())).toMatchObject({
    kind: 'denied',
    reason: 'unknown_key',
    message: expect.stringContaining('squall.dev/shiny') as string,
  })
})
