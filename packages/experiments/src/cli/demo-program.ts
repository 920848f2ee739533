import { readVersion } from '#cli'
import { assemble, parseRunOptions } from '#sidecar'
import type { DemoProgram } from '../demo/stage.ts'

/** Starts Squall for the demo. */
export const DEMO_PROGRAM: DemoProgram = {
  get version() {
    return readVersion()
  },
  startSidecar: (flags, logger) => {
    const raw = new Map(Object.entries(flags).map(([name, value]) => [name, [value]]))
    return assemble(parseRunOptions(raw, {}), logger)
  },
}
