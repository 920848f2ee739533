import { stat } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { Tape } from '../../src/tape/tape.ts'
import { appended, CALL, MIB, RESULT } from './large.ts'
import { written } from './recorded.ts'

it.each([1, 40, 100])(
  'reads a result of 17 MiB that begins %i B before the end of a read',
  async (before) => {
    const path = await written([{ ...CALL, params: { name: 'big', arguments: {} } }])
    const { size } = await stat(path)
    await appended(path, function* () {
      yield `${' '.repeat(MIB - before - size - 1)}\n`
      yield `${JSON.stringify(RESULT).slice(0, -1)},"result":{"text":"`
      yield Buffer.alloc(17 * MIB, 'x')
      yield '"}}\n'
    })
    const tape = await Tape.open(path)
    try {
      expect(tape.calls.map(({ isDone }) => isDone)).toEqual([true])
    } finally {
      await tape.close()
    }
  },
)
