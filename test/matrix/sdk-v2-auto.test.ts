import { testSdkMatrix } from './matrix-tests.ts'

testSdkMatrix('auto')
