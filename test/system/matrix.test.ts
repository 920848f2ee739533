// part: clients
import { describe } from 'vitest'
import { testSdkMatrix } from '../matrix/matrix-tests.ts'
import { CLIENTS } from '../matrix/settings.ts'

describe.each(CLIENTS)('what docs/reference/matrix.md says of the client %s', (client) =>
  testSdkMatrix(client),
)
