// part: slow
import { expect, it } from 'vitest'
import { stdioClient, throughSquall } from '../../../../test/support/commands.ts'
import { linesOf, newPath } from './recorded.ts'

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

function said(text: string): object {
  return { content: [{ type: 'text', text }] }
}
