/**
 * The first protocol version without sessions, in which every request states its protocol version.
 */
export const FIRST_MODERN_PROTOCOL_VERSION = '2026-07-28'

/** Returns true when the protocol version is a date: only dates can be ordered. */
export function isProtocolVersionDate(protocolVersion: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(protocolVersion)
}

/** Returns true since protocol version 2026-07-28; false for older, unknown and missing ones. */
export function isModern(protocolVersion: string | undefined): boolean {
  return (
    protocolVersion !== undefined &&
    (protocolVersion === FIRST_MODERN_PROTOCOL_VERSION ||
      (protocolVersion > FIRST_MODERN_PROTOCOL_VERSION && isProtocolVersionDate(protocolVersion)))
  )
}
