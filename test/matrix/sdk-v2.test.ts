// part: slow
import { testSdkMatrix } from './matrix-tests.ts'

// The system tests measure all variants.
testSdkMatrix('v2', 15)
