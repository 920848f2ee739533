// part: clients
import { PYTHON_ROWS } from '../matrix/python-rows.ts'
import { testMatrix } from '../matrix/matrix-tests.ts'
import { SETTINGS } from '../matrix/settings.ts'
import { expectedOf, titleOf } from '../matrix/variant.ts'
import { pythonKind } from './python-kind.ts'

const python = pythonKind((variant, setting) => {
  const others = expectedOf(variant, setting, 'auto')
  const row = PYTHON_ROWS[titleOf(variant)]?.find((one) => one.in.includes(setting))
  if (others === undefined || row === undefined) return undefined
  const { says, next = others.next, counted = others.counted } = row
  return { ...others, says, next, counted }
})

testMatrix(
  python,
  SETTINGS.filter(({ transport }) => transport === 'streamableHttp'),
)
