import { actionsOf, HANDLER_FIELDS, PORT_ACTIONS, withActions } from './handler-fields.ts'
import { APP_HEALTH } from './injected-names.ts'
import type { Container, Handler, Probe } from './pod.ts'
import type { TakenPort } from './taken-ports.ts'

/** A probe of the upstream that the sidecar performs: one action, with a port number. */
export type AppProbe = Handler & Pick<Probe, 'timeoutSeconds'>

type Aim = NonNullable<ReturnType<typeof aimOf>>

/** The longest timeout of a check by the sidecar. */
const MAX_SECONDS = 3600

/**
 * Replaces probes of taken ports, which would meet faults, by requests to the admin port. The
 * sidecar performs `probes` instead; `originals` restores them. Both are by `container/probe`.
 */
export function rewriteProbes(before: Container, ports: readonly TakenPort[], adminPort: number) {
  const probes: Record<string, AppProbe> = {}
  const rest = eachAim(before, ports, (handler, aim, key) => {
    probes[key] = askedBySidecar(aim, handler)
    return withActions(handler, { httpGet: { path: `${APP_HEALTH}/${key}`, port: adminPort } })
  })
  return { ...rest, probes }
}

/**
 * Replaces port names in probes by numbers. In mode `port` the name moves to the sidecar, and the
 * kubelet looks for the name in the container of the probe.
 */
export function numberProbes(before: Container, ports: readonly TakenPort[]) {
  return eachAim(before, ports, (handler, { kind, action, number }) =>
    typeof action.port === 'number' || /^\d+$/.test(action.port)
      ? undefined
      : withActions(handler, { ...actionsOf(handler), [kind]: { ...action, port: number } }),
  )
}

/**
 * Restores probes, unless another program changed them since. A service mesh may have taken over a
 * rewritten probe and still request its path: such originals are returned as `kept`, by
 * `container/probe`.
 */
export function restoreProbes(
  before: Container,
  originals: Readonly<Record<string, Handler>>,
  adminPort: number | undefined,
) {
  let container = before
  const kept: Record<string, Handler> = {}
  for (const field of HANDLER_FIELDS) {
    const key = `${before.name}/${field.word}`
    const original = Object.hasOwn(originals, key) ? originals[key] : undefined
    const current = field.read(before)
    if (original === undefined || !current) continue
    const restored = restoredHandler(current, original, key, adminPort, before)
    if (restored !== undefined) container = field.write(container, restored)
    else if (current.httpGet?.path === `${APP_HEALTH}/${key}`) kept[key] = original
  }
  return { container, kept }
}

/**
 * Returns the probes that a mesh took over after an earlier injection, for the sidecar to perform.
 */
export function keptProbes(
  container: Container,
  kept: Readonly<Record<string, Handler>>,
): Readonly<Record<string, AppProbe>> {
  const probes: Record<string, AppProbe> = {}
  for (const field of HANDLER_FIELDS) {
    const key = `${container.name}/${field.word}`
    const aim = Object.hasOwn(kept, key) ? aimOf(kept[key]!, container) : undefined
    if (aim !== undefined) probes[key] = askedBySidecar(aim, field.read(container) ?? {})
  }
  return probes
}

function restoredHandler(
  current: Handler,
  original: Handler,
  key: string,
  adminPort: number | undefined,
  container: Container,
): Handler | undefined {
  const asked = current.httpGet
  // A mesh requests the same paths at its own port. Without the sidecar, the path decides.
  const isAdmin = adminPort === undefined || Number(asked?.port) === adminPort
  if (asked?.path === `${APP_HEALTH}/${key}` && isAdmin) {
    return withActions(current, original)
  }
  const kind = PORT_ACTIONS.find((each) => original[each])
  const was = kind && original[kind]
  const is = kind && current[kind]
  if (!kind || !was || !is || typeof was.port !== 'string' || typeof is.port === 'string') {
    return undefined
  }
  if (is.port !== portNumber(was.port, container)) return undefined
  return withActions(current, { ...actionsOf(current), [kind]: { ...is, port: was.port } })
}

function askedBySidecar(aim: Aim, { timeoutSeconds }: Probe): AppProbe {
  const target = { [aim.kind]: { ...aim.action, port: aim.number } } as Handler
  return timeoutSeconds === undefined
    ? target
    : { ...target, timeoutSeconds: Math.min(timeoutSeconds, MAX_SECONDS) }
}

/** Changes the handlers of a container that aim at a taken port. */
function eachAim(
  before: Container,
  ports: readonly TakenPort[],
  change: (handler: Handler, aim: Aim, key: string) => Handler | undefined,
) {
  let container = before
  const originals: Record<string, Handler> = {}
  for (const field of HANDLER_FIELDS) {
    const handler = field.read(before)
    const aim = handler ? aimOf(handler, before) : undefined
    if (!handler || !aim || !ports.some(({ number }) => number === aim.number)) continue
    const key = `${before.name}/${field.word}`
    const changed = change(handler, aim, key)
    if (changed === undefined) continue
    originals[key] = actionsOf(handler)
    container = field.write(container, changed)
  }
  return { container, originals }
}

/** Returns the port of the pod that a handler uses; undefined for another host, or no port. */
function aimOf(handler: Handler, container: Container) {
  const kind = PORT_ACTIONS.find((each) => handler[each])
  const action = kind && handler[kind]
  if (!kind || !action || ('host' in action && action.host)) return undefined
  const number = portNumber(action.port, container)
  return number === undefined ? undefined : { kind, action, number }
}

/** Returns the number of a port of a container; undefined for an unknown name. */
export function portNumber(port: number | string, { ports }: Container): number | undefined {
  if (typeof port === 'number') return port
  const named = (ports ?? []).find(({ name }) => name === port)
  if (named !== undefined) return named.containerPort
  return /^\d{1,5}$/.test(port) ? Number(port) : undefined
}

/** Finds a probe or hook that uses TLS with a taken port. */
export function httpsHandler(
  container: Container,
  ports: readonly TakenPort[],
): { readonly key: string; readonly port: number } | undefined {
  let found: { readonly key: string; readonly port: number } | undefined
  eachAim(container, ports, ({ httpGet }, { number: port }, key) => {
    if (httpGet?.scheme?.toUpperCase() === 'HTTPS') found ??= { key, port }
    return undefined
  })
  return found
}
