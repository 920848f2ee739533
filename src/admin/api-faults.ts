import type { RecentFault, RecentFaults } from '../listener/faults/recent-faults.ts'
import type { Fault, Faults } from './api.ts'
import { isoTime } from './api-time.ts'

/** The last faults that took effect, newest first, as JSON. */
export function showFaults(recent: RecentFaults | undefined): Faults {
  return { total: recent?.total ?? 0, faults: (recent?.list() ?? []).map(showFault) }
}

/** One fault that took effect, as JSON. */
export function showFault({ at, entry }: RecentFault): Fault {
  return { at: isoTime(at), ...entry }
}
