import type { Engine } from './engine.ts'

/** Bounds of a listener, and how it carries exchanges. */
export interface FrontOptions {
  readonly maxHead: number
  readonly headTimeout: number
  readonly bodyTimeout: number
  readonly maxConnections: number
  /** Connections above the bound that are still answered with 503; any more are closed at once. */
  readonly overloadReserve: number
  readonly clientKeepalive: number
  /** Requests with more body than this are never read here. */
  readonly maxBody: number
  readonly engine: Engine
}
