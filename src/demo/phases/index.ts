import type { Phase } from '../phase.ts'
import { everyCallAccounted } from './every-call-accounted.ts'
import { editedLive } from './edited-live.ts'
import { life } from './life.ts'
import { nobodyNotices } from './nobody-notices.ts'

/** The demo, in this order. A new part is a file and a line here. */
export const PHASES: readonly Phase[] = [nobodyNotices, everyCallAccounted, editedLive, life]
