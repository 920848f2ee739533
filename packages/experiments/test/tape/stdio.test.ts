// part: slow
import { expect, it } from 'vitest'
import { startProgram, stdioClient, throughSquall } from '../../../../test/support/commands.ts'
import { linesOf, newPath, written } from './recorded.ts'

it('is recorded from and served over stdio, also behind a sidecar', async () => {
  const path = await newPath()
  const play = async (command: readonly string[]): Promise<unknown> => {
    const client = await stdioClient('v1', command)
    const seen = [
      await client.listTools(),
      await client.call('echo', { text: 'grüße' }),
      await client.call('steps'),
      await client.call('ask'),
    ]
    await client.close()
    return seen
  }
  const direct = await play(throughSquall(['--tape', path]))
  expect(direct).toMatchObject([{}, said('grüße'), said('done'), said('file:///a')])
  const methods = (await linesOf(path)).map(({ method }) => method)
  expect(methods).toContain('roots/list')
  expect(methods.filter((method) => method === 'notifications/progress')).toHaveLength(3)
  const tape = [process.execPath, 'dist/cli/main.js', 'tape', 'serve', path, '--stdio']
  expect(await play(tape)).toEqual(direct)
  expect(await play(throughSquall([], tape))).toEqual(direct)
})

it('large responses leave no listeners behind', async () => {
  const call = { at: 1, exchange: 1, id: 1, method: 'tools/call' }
  const path = await written([
    { ...call, from: 'client', params: { name: 'page', arguments: {} } },
    { at: 2, exchange: 1, id: 1, from: 'server', result: said('x'.repeat(100_000)) },
  ])
  const params = { name: 'page', arguments: {} }
  const asked = Array.from({ length: 20 }, (_, id) =>
    JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params }),
  )
  const args = ['tape', 'serve', path, '--stdio', '--off-tape', 'last', '--log-level', 'error']
  const input = `${asked.join('\n')}\n`
  const { stdout, stderr } = await startProgram(args, {}, { input }).finished()
  expect(stdout.trim().split('\n')).toHaveLength(20)
  // Node warns of a leak.
  expect(stderr).toBe('')
})

function said(text: string): object {
  return { content: [{ type: 'text', text }] }
}
