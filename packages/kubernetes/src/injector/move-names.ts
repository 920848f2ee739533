import type { Container } from './pod.ts'
import type { TakenPort } from './taken-ports.ts'

/**
 * Removes the names of taken ports from a container, for use by the sidecar; returns them by
 * `container/number`.
 */
export function moveNames(before: Container, taken: readonly TakenPort[]) {
  const names: Record<string, string> = {}
  const warnings: string[] = []
  const ports = before.ports?.map((port) => {
    const { name, ...rest } = port
    const isTaken = taken.some(
      (each) => each.container === before.name && each.name === name && name !== undefined,
    )
    if (!isTaken || name === undefined) return port
    names[`${before.name}/${port.containerPort}`] = name
    if (port.hostPort !== undefined && port.hostPort !== 0) {
      warnings.push(`traffic to hostPort ${port.hostPort} bypasses Squall in mode port`)
    }
    return rest
  })
  const isChanged = Object.keys(names).length > 0
  return { container: isChanged && ports ? { ...before, ports } : before, names, warnings }
}

export function restoreNames(
  before: Container,
  names: Readonly<Record<string, string>>,
): Container {
  let isChanged = false
  const restored = new Set<string>()
  const ports = before.ports?.map((port) => {
    const key = `${before.name}/${port.containerPort}`
    const name = Object.hasOwn(names, key) ? names[key] : undefined
    const isOurs = port.name === undefined && (port.protocol ?? 'TCP') === 'TCP'
    if (name === undefined || !isOurs || restored.has(key)) return port
    restored.add(key)
    isChanged = true
    return { ...port, name }
  })
  return isChanged && ports ? { ...before, ports } : before
}
