/** The ways to know the task of a call; the first that a call has counts. */
export const KEY_KINDS = ['header', 'meta', 'trace', 'session', 'client'] as const
export type KeyKind = (typeof KEY_KINDS)[number]
