import type { Container, Pod } from './pod-types.ts'
import type { TakenPort } from './taken-ports.ts'

const LOOPBACK = /(^|[^\d.])127\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])|localhost|::1/
const FIRST_UNPRIVILEGED = 1024

/** Returns the problems of mode `bind` that a pod's manifest shows. */
export function checkBinding(pod: Pod, ports: readonly TakenPort[]): readonly string[] {
  const containers = pod.spec?.containers ?? []
  const low = ports.filter(({ number }) => number < FIRST_UNPRIVILEGED)
  return [
    ...(containers.some(bindsLoopback)
      ? []
      : [
          'nothing in the pod says that the app listens on loopback: it must listen on 127.0.0.1 alone, for example by a variable HOST; else it or the sidecar ends with EADDRINUSE',
        ]),
    ...low.map(
      ({ number }) =>
        `the sidecar is not root: whether it may listen on port ${number} depends on the container runtime; a port from ${FIRST_UNPRIVILEGED} on always works`,
    ),
  ]
}

function bindsLoopback({ env, args, command }: Container): boolean {
  const texts = [
    ...(env ?? []).map(({ value }) => value ?? ''),
    ...(args ?? []),
    ...(command ?? []),
  ]
  return texts.some((text) => LOOPBACK.test(text))
}
