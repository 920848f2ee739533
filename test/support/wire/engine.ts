import type { Engine } from '../../../src/listener/front/front-options.ts'

/** The engine that a run of the tests is about, by `SQUALL_ENGINE`. */
export const ENGINE_UNDER_TEST: Engine =
  process.env['SQUALL_ENGINE'] === 'standard' ? 'standard' : 'fast'
