// part: slow
import { testLimits } from './false-value-limits.ts'
import { testScripts } from './false-value-scripts.ts'
import { WAYS } from './shop-agent.ts'

// `npm test` has each script and each limit on one of the ways.
testScripts((script, way) => script % WAYS.length !== way)
testLimits((limit, way) => limit % WAYS.length !== way)
