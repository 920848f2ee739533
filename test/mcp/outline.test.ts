import { expect, test } from 'vitest'
import { Random } from '../support/random.ts'
import { rounds } from '../support/rounds.ts'
import {
  disagreement,
  isOutlined,
  mutatedBodies,
  fromClient,
  requestsDisagree,
} from './mutated-bodies.ts'
import { outlineOfBody } from '../../src/mcp/classify.ts'

const BODIES = Number(process.env['SQUALL_OUTLINE_BODIES'] ?? rounds(2_000, 200_000))
const SEED = Number(process.env['SQUALL_TEST_SEED'] ?? 1)

test('large bodies are read as by the parser, however they are damaged', () => {
  const random = new Random(SEED)
  let outlined = 0
  for (const bytes of mutatedBodies(BODIES, random)) {
    const difference = disagreement(bytes, random)
    if (difference !== undefined) {
      expect.fail(`seed ${SEED}: ${difference}\n${bytes.toString('latin1')}`)
    }
    if (isOutlined(bytes)) outlined++
  }
  // The parser reads the others: damaged, unusual, or an error.
  expect(outlined).toBeGreaterThan(BODIES / 5)
}, 3_600_000)

test('large requests are read as by the parser, however they are damaged', () => {
  const random = new Random(SEED)
  let outlined = 0
  for (const bytes of mutatedBodies(BODIES, random, fromClient)) {
    const difference = requestsDisagree(bytes)
    if (difference !== undefined) {
      expect.fail(`seed ${SEED}: ${difference}\n${bytes.toString('latin1')}`)
    }
    if (outlineOfBody(bytes) !== undefined) outlined++
  }
  expect(outlined).toBeGreaterThan(BODIES / 5)
}, 3_600_000)
