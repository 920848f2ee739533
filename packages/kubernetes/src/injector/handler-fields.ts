import type { Container, Handler } from './pod.ts'

interface HandlerField {
  /** The last part of the path at which the admin port performs it. */
  readonly word: string
  read(container: Container): Handler | null | undefined
  write(container: Container, handler: Handler): Container
}

/** The actions that use a port. */
export const PORT_ACTIONS = ['httpGet', 'tcpSocket', 'grpc'] as const

export const HANDLER_FIELDS: readonly HandlerField[] = [
  probeField('livez', 'livenessProbe'),
  probeField('readyz', 'readinessProbe'),
  probeField('startupz', 'startupProbe'),
  hookField('poststart', 'postStart'),
  hookField('prestop', 'preStop'),
]

/** Returns the handler with other actions; its other fields stay. */
export function withActions(handler: Handler, actions: Handler): Handler {
  const { httpGet: _http, tcpSocket: _tcp, grpc: _grpc, ...rest } = handler
  return { ...rest, ...actions }
}

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
    // Hooks of Kubernetes are requests and commands, never plain connections.
    read: ({ lifecycle }) => (lifecycle?.[key]?.httpGet ? lifecycle[key] : undefined),
    write: (container, handler) => ({
      ...container,
      lifecycle: { ...container.lifecycle, [key]: handler },
    }),
  }
}
