// part: slow-nightly
import { testSdkMatrix } from './matrix-tests.ts'

// Each variant in one of the six settings at most. The system tests measure all variants in all of
// them.
testSdkMatrix('auto', 12)
