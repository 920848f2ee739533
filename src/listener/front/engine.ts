/** The ways in which exchanges are carried, the usual one first. */
export const ENGINES = ['fast', 'standard'] as const

/** `fast` passes plain exchanges on as bytes, `standard` takes all through node:http and undici. */
export type Engine = (typeof ENGINES)[number]
