// part: slow-nightly
import { expect, it } from 'vitest'
import { closers } from '../../../../test/support/closers.ts'
import { startProgram } from '../../../../test/support/commands.ts'
import { Tape } from '../../src/tape/tape.ts'
import { appended, CALL, LARGE_START, MIB, post, RESULT, writtenLarge } from './large.ts'
import { served, written } from './recorded.ts'

const open = closers()

it('serves a result of 100 MB in pieces, and shows it without reading it', async () => {
  const path = await writtenLarge(100)
  const { url } = open(await served(path))
  const before = process.memoryUsage().rss
  const { stdout } = await startProgram(['tape', 'show', path], {}, { here: true })
  expect(stdout).toMatch(/big +.*104,857,6\d\d +ok/)
  let size = 0
  let text = ''
  const response = await post(url, 'big', 'grüße')
  for await (const chunk of response.body!) {
    size += chunk.length
    text = (text.slice(0, 100) + Buffer.from(chunk).toString('latin1')).slice(0, 120)
  }
  expect(text).toMatch(LARGE_START)
  expect(size).toBe(Number(response.headers.get('content-length')))
  expect(process.memoryUsage().rss - before).toBeLessThan(90 * MIB)
})

it('opens a tape of 100,000 calls in seconds, and holds little of it', async () => {
  const path = await written([])
  await appended(path, function* () {
    for (let i = 1; i <= 100_000; i++) {
      const params = { name: `tool-${i % 50}`, arguments: { number: i, query: `flights to ${i}` } }
      const content = [{ type: 'text', text: `result ${i} `.repeat(8) }]
      const lines = [
        { ...CALL, at: i, exchange: i, session: 'abcd', id: i, params },
        { ...RESULT, at: i, exchange: i, session: 'abcd', id: i, result: { content } },
      ]
      yield lines.map((line) => `${JSON.stringify(line)}\n`).join('')
    }
  })
  globalThis.gc?.()
  const before = process.memoryUsage()
  const cpu = process.cpuUsage()
  const tape = await Tape.open(path)
  const { user, system } = process.cpuUsage(cpu)
  globalThis.gc?.()
  const heap = process.memoryUsage().heapUsed - before.heapUsed
  expect(tape.calls).toHaveLength(100_000)
  // Time of the processor: other programs may have the rest.
  expect((user + system) / 1000).toBeLessThan(4_000)
  expect(heap).toBeLessThan(100 * MIB)
  await tape.close()
})
