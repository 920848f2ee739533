/** The engines, the default first. */
export const ENGINES = ['fast', 'standard'] as const

/**
 * Selects the data path: `fast` forwards plain exchanges as bytes, `standard` uses node:http and
 * undici for all.
 */
export type Engine = (typeof ENGINES)[number]

/** Configures a listener. */
export interface FrontOptions {
  readonly maxHeaderSize: number
  readonly headerTimeout: number
  readonly bodyTimeout: number
  /** The timeout of bodies that are held until complete, and arrive slower than 1 KiB/s. */
  readonly holdTimeout: number
  readonly maxConnections: number
  /** Connections above the limit that get status 503; further ones are closed at once. */
  readonly overloadReserve: number
  readonly clientKeepalive: number
  /** The largest request body that is read. */
  readonly maxBody: number
  readonly engine: Engine
}
