import { readFileSync } from 'node:fs'

/** Bounds on connections that fit into a limit on open files. */
export interface ConnectionRoom {
  readonly maxConnections: number
  readonly maxUpstreamConnections: number
  /** Connections of each listener above the bound that are still answered with 503. */
  readonly overloadReserve: number
  readonly adminConnections: number
  /** The limit that the bounds were derived from. */
  readonly openFiles: number
  /** Less is allowed than was asked for. */
  readonly reduced: boolean
}

/** The bounds that were asked for, of each listener. */
export interface AskedConnections {
  readonly maxConnections: number
  readonly maxUpstreamConnections: number
  readonly listeners: number
}

/** Descriptors for everything but connections: files, watches, listeners, modules that are loaded late. */
const OWN = 64
const MOST_OVERLOADED = 256
const MOST_ADMIN = 256
const LEAST_ADMIN = 8

/** Returns how many files and sockets this process may have open at a time; Infinity where it is not known. */
export function descriptorLimit(): number {
  try {
    // Node has raised the soft limit to the hard one by now.
    const text = readFileSync('/proc/self/limits', 'utf8')
    return asLimit(/^Max open files +(\S+)/m.exec(text)?.[1])
  } catch {
    // Not Linux. The report has the same, and takes longer to make.
    const report = process.report.getReport() as {
      userLimits?: { open_files?: { soft?: string | number } }
    }
    return asLimit(report.userLimits?.open_files?.soft)
  }
}

function asLimit(told: string | number | undefined): number {
  const limit = Number(told)
  return Number.isInteger(limit) && limit > 0 ? limit : Infinity
}

/**
 * Returns bounds under which clients can take no descriptor that the admin port or a connection to
 * the upstream needs: a client costs two, its own and the one to the upstream.
 */
export function connectionRoom(limit: number, asked: AskedConnections): ConnectionRoom {
  const { listeners, maxConnections, maxUpstreamConnections } = asked
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
