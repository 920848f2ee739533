import type { Engine } from './engine.ts'

/** Bounds of a listener, and how it carries exchanges. */
export interface FrontOptions {
  readonly maxHeaderSize: number
  readonly headerTimeout: number
  readonly bodyTimeout: number
  /** For bodies that are held until they are whole, and come slower than 1 KiB in a second. */
  readonly holdTimeout: number
  readonly maxConnections: number
  /** Connections above the bound that are still answered with 503; any more are closed at once. */
  readonly overloadReserve: number
  readonly clientKeepalive: number
  /** Requests with more body than this are never read here. */
  readonly maxBody: number
  readonly engine: Engine
}
