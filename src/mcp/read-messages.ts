import type { Message } from './json-rpc.ts'

/** The messages of an event or body. */
export interface ReadMessages {
  /** True for an array, which protocol version 2025-03-26 allows. */
  readonly batch: boolean
  readonly messages: readonly Message[]
}

const READ = Symbol('read')

/** Bytes with what was read in them. A WeakMap would cost as much as parsing a small message. */
interface ReadBytes extends Uint8Array {
  [READ]?: ReadMessages
}

/**
 * Keeps what was read in one event or body with its bytes, so that the next reader need not parse
 * them.
 */
export function keepRead(bytes: ReadBytes, read: ReadMessages): void {
  bytes[READ] = read
}

/** Returns what was kept with these bytes; undefined if they were not read, or were copied. */
export function readOf(bytes: ReadBytes): ReadMessages | undefined {
  return bytes[READ]
}

/** Keeps what was read in `from` with a copy that has comments in front. */
export function keepCopied(from: ReadBytes, copy: ReadBytes): void {
  const read = from[READ]
  if (read !== undefined) copy[READ] = read
}
