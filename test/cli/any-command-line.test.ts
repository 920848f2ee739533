import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { envName, namedFlags } from '../../src/base/flags/flag.ts'
import { RUN_FLAGS } from '../../src/sidecar/run-options.ts'
import { parseCommandLine } from '../support/commands/command-line.ts'
import { UsageError } from '../../src/base/flags/usage-error.ts'
import { rounds } from '../support/rounds.ts'
import { ANY_CHARACTER } from '../support/any-character.ts'

describe('any command line and environment', () => {
  const flag = fc.constantFrom(...namedFlags(RUN_FLAGS).map(({ name }) => name))
  const value = fc.oneof(
    fc.constantFrom('off', 'true', '5s', '64KiB', ':1', 'http://a', 'unix:/a', '99999', '', '-h'),
    fc.string({ unit: ANY_CHARACTER, maxLength: 12 }),
  )
  const word = fc.oneof(
    flag.map((name) => `--${name}`),
    fc.tuple(flag, value).map(([name, text]) => `--${name}=${text}`),
    value,
  )
  const env = fc.dictionary(
    flag.map((name) => envName(name)),
    value,
    { maxKeys: 3 },
  )

  it('is understood or rejected in one line', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 6 }), env, (args, variables) => {
        try {
          const invocation = parseCommandLine(['run', ...args], variables, '1')
          if (invocation.kind === 'command') expect(invocation.name).toBe('run')
          if (invocation.kind === 'print') expect(invocation.text).not.toBe('')
        } catch (error) {
          if (!(error instanceof UsageError)) throw error
          // oxlint-disable-next-line no-control-regex
          expect(error.message).toMatch(/^[^\u0000-\u001f\u2028\u2029]+; [^\u0000-\u001f]+$/)
          expect(error.message.length).toBeLessThan(400)
        }
      }),
      { numRuns: rounds(150, 1_000) },
    )
  })
})
