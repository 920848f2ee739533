import type { Message } from './json-rpc.ts'

/** The messages of an event or body. */
export interface ReadMessages {
  /** True for an array, which protocol version 2025-03-26 allows. */
  readonly batch: boolean
  readonly messages: readonly Message[]
}

const READ = new WeakMap<Uint8Array, ReadMessages>()

/**
 * Keeps what was read in one event or body with its bytes, so that the next reader need not parse
 * them.
 */
export function keepRead(bytes: Uint8Array, read: ReadMessages): void {
  READ.set(bytes, read)
}

/** Returns what was kept with these bytes; undefined if they were not read, or were copied. */
export function readOf(bytes: Uint8Array): ReadMessages | undefined {
  return READ.get(bytes)
}

/** Keeps what was read in `from` with a copy that has comments in front. */
export function keepCopied(from: Uint8Array, copy: Uint8Array): void {
  const read = READ.get(from)
  if (read !== undefined) READ.set(copy, read)
}
