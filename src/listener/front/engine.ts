/** The ways in which exchanges are carried, the usual one first. */
export const ENGINES = ['splice', 'general'] as const

/** `splice` passes plain exchanges on as bytes, `general` takes all through node:http and undici. */
export type Engine = (typeof ENGINES)[number]
