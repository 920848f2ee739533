import type { Phase } from '../phase.ts'
import { clean } from './clean.ts'
import { editedLive } from './edited-live.ts'
import { life } from './life.ts'
import { nobodyNotices } from './nobody-notices.ts'
import { twoPercent } from './two-percent.ts'
import { withRetries } from './with-retries.ts'

/** The demo, in this order. A new part is a file and a line here. */
export const PHASES: readonly Phase[] = [
  nobodyNotices,
  clean,
  twoPercent,
  withRetries,
  editedLive,
  life,
]
