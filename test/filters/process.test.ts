import { describe, expect, it } from 'vitest'
import { processFault } from '../../src/filters/process.ts'
import { Context } from './context.ts'
import { findings, parameters } from './fault-text.ts'

describe('process', () => {
  it('takes one failure', () => {
    expect(parameters('process', '{ exit: 0, at: response }')).toEqual({ exit: 0, at: 'response' })
    expect(parameters('process', '{ stop: 5s }')).toEqual({ stop: 5000, at: 'request' })
    for (const text of [
      '',
      'exit: 1, stop: 1s',
      'exit: 256',
      'print: ""',
      'print: a, at: response',
    ])
      expect(findings('process', `{ ${text} }`), text).toHaveLength(1)
  })

  it.each([{ exit: 1 }, { stop: 5 }, { print: 'a' }])(
    'is not applicable without a process, and changes nothing: %j',
    async (config) => {
      const ctx = new Context()
      const fault = processFault.create({ at: 'request', ...config })
      expect(await fault.onRequest!(ctx)).toEqual({ kind: 'continue' })
      expect([ctx.reached, ctx.effects]).toEqual([['no_process'], 0])
    },
  )
})
