// part: clients
import { testMatrix } from '../matrix/matrix-tests.ts'
import { PYTHON_SETTINGS } from '../matrix/settings.ts'
import { pythonKind } from './python-kind.ts'

testMatrix(pythonKind(), PYTHON_SETTINGS)
