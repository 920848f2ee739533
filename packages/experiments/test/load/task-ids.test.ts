import type { RequestListener } from 'node:http'
import { afterEach, expect, test } from 'vitest'
import { closeAll } from './closing.ts'
import { load } from './load-run.ts'
import { scriptedListener, startUpstream } from '../../../../test/support/wire.ts'

const open = closeAll(afterEach)

/** An upstream whose second response to a call is an error, and the tasks that requests name. */
async function namedTasks() {
  let calls = 0
  const respond = scriptedListener(() => (++calls === 2 ? 'rpc error' : 'ok'))
  const tasks: string[] = []
  const listener: RequestListener = (request, response) => {
    if (request.method === 'POST') tasks.push([request.headers['x-task-id'] ?? []].flat().join())
    respond(request, response)
  }
  const upstream = open(await startUpstream(listener))
  return { url: new URL(`${upstream.url}/mcp`), tasks }
}

const work = { tools: ['work'], fanOut: 2, sequential: true }

test.each(['lean', 'sdk-v1', 'sdk-v2'] as const)(
  '%s: all calls and retries of a task name the task',
  async (client) => {
    const { url, tasks } = await namedTasks()
    const resilience = { retries: 1 }
    const result = await load({ url, client, work, resilience, pace: { clients: 1, tasks: 2 } })
    expect(result.counts).toMatchObject({ calls: 4, retries: 1 })
    const named = tasks.filter((task) => task !== '')
    expect(named).toHaveLength(5)
    const [first = '', , , , second] = named
    expect(named).toEqual([first, first, first, second, second])
    expect(first).toMatch(/^load-[0-9a-f]{12}-0$/)
    expect(second).toBe(first.replace(/0$/, '1'))
  },
)

test('a task that the headers of the user name stays', async () => {
  const { url, tasks } = await namedTasks()
  await load({ url, work, headers: { 'X-Task-Id': 'own' }, pace: { clients: 1, tasks: 2 } })
  expect(new Set(tasks)).toEqual(new Set(['own']))
})
