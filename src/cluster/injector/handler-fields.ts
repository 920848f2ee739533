import type { Container, Handler } from './pod-types.ts'

/** Where a container says how it is asked: a probe, or a hook of its life. */
export interface HandlerField {
  /** The last part of the path by which the admin port stands in for it. */
  readonly word: string
  read(container: Container): Handler | null | undefined
  write(container: Container, handler: Handler): Container
}

/** The ways of asking that lead to a port. */
export const PORT_ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const

/** All places of a container. */
export const HANDLER_FIELDS: readonly HandlerField[] = [
  probeField('livez', 'livenessProbe'),
  probeField('readyz', 'readinessProbe'),
  probeField('startupz', 'startupProbe'),
  hookField('poststart', 'postStart'),
  hookField('prestop', 'preStop'),
]

/** The handler with other ways of asking; its times and the like stay. */
export function withActions(handler: Handler, actions: Handler): Handler {
  const { httpGet: _http, tcpSocket: _tcp, grpc: _grpc, ...rest } = handler
  return { ...rest, ...actions }
}

/** The ways of asking of a handler, without the rest of it. */
export function actionsOf(handler: Handler): Handler {
  const actions: Partial<Record<(typeof PORT_ACTIONS)[number], unknown>> = {}
  for (const kind of PORT_ACTIONS) if (Object.hasOwn(handler, kind)) actions[kind] = handler[kind]
  return actions as Handler
}

function probeField(
  word: string,
  key: 'livenessProbe' | 'readinessProbe' | 'startupProbe',
): HandlerField {
  return {
    word,
    read: (container) => container[key],
    write: (container, handler) => ({ ...container, [key]: handler }),
  }
}

function hookField(word: string, key: 'postStart' | 'preStop'): HandlerField {
  return {
    word,
    // A connection is no hook for Kubernetes: only requests and commands are.
    read: ({ lifecycle }) => (lifecycle?.[key]?.httpGet ? lifecycle[key] : undefined),
    write: (container, handler) => ({
      ...container,
      lifecycle: { ...container.lifecycle, [key]: handler },
    }),
  }
}
