import * as fc from 'fast-check'

/** Property tests repeat the same cases in each run; SQUALL_TEST_SEED selects others. */
fc.configureGlobal({ seed: Number(process.env['SQUALL_TEST_SEED'] ?? 1) })
