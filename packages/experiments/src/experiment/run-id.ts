import { randomBytes } from 'node:crypto'

/** Matches the ids of runs and searches, which are also the names of their directories. */
export const RUN_ID = /^[0-9]{8}-[0-9]{6}-[0-9a-f]{6}$/

/** Returns an id that sorts by time and is short enough for the name of a rule. */
export function newId(now: Date): string {
  const [day = '', time = ''] = now.toISOString().split('T')
  const digits = `${day.replaceAll('-', '')}-${time.slice(0, 8).replaceAll(':', '')}`
  return `${digits}-${randomBytes(3).toString('hex')}`
}
