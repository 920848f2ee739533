import { testSdkMatrix } from './matrix-tests.ts'

testSdkMatrix('v1')
