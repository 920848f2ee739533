import { readFileSync } from 'node:fs'

/** Connection limits that fit into the limit on open files. */
export interface ConnectionLimits {
  readonly maxConnections: number
  readonly maxUpstreamConnections: number
  /** Connections of each listener above the limit that get status 503. */
  readonly overloadReserve: number
  readonly adminConnections: number
  /** The limit on open files. */
  readonly openFiles: number
  /** True when fewer connections are allowed than requested. */
  readonly reduced: boolean
}

/** The requested limits of each listener. */
export interface RequestedConnections {
  readonly maxConnections: number
  readonly maxUpstreamConnections: number
  readonly listeners: number
}

/** Descriptors for files, watches, listeners and modules that are loaded later. */
const OWN = 64
const MOST_OVERLOADED = 256
const MOST_ADMIN = 256
const LEAST_ADMIN = 8

/** Returns the limit on open files and sockets of this process; Infinity when it is unknown. */
export function descriptorLimit(): number {
  try {
    // Node has raised the soft limit to the hard limit at its start.
    const text = readFileSync('/proc/self/limits', 'utf8')
    return asLimit(/^Max open files +(\S+)/m.exec(text)?.[1])
  } catch {
    // On other systems than Linux the report has the limit, but takes longer.
    const report = process.report.getReport() as {
      userLimits?: { open_files?: { soft?: string | number } }
    }
    return asLimit(report.userLimits?.open_files?.soft)
  }
}

function asLimit(value: string | number | undefined): number {
  const limit = Number(value)
  return Number.isInteger(limit) && limit > 0 ? limit : Infinity
}

/**
 * Returns limits under which clients cannot use up the descriptors of the admin port and the
 * upstream connections: a client needs two, its own and one to the upstream.
 */
export function connectionLimits(
  limit: number,
  { listeners, maxConnections, maxUpstreamConnections }: RequestedConnections,
): ConnectionLimits {
  const adminConnections = Math.min(MOST_ADMIN, Math.max(LEAST_ADMIN, Math.floor(limit / 16)))
  const each = Math.max(0, (limit - OWN - adminConnections) / listeners)
  const overloadReserve = Math.min(MOST_OVERLOADED, Math.max(1, Math.floor(each / 8)))
  const room = Math.max(2, Math.floor(each) - overloadReserve)
  const upstream = Math.min(
    maxUpstreamConnections,
    Math.max(room - maxConnections, Math.ceil(room / 2)),
  )
  const clients = Math.min(maxConnections, room - upstream)
  return {
    maxConnections: clients,
    maxUpstreamConnections: upstream,
    overloadReserve,
    adminConnections,
    openFiles: limit,
    reduced: clients < maxConnections || upstream < maxUpstreamConnections,
  }
}
