// part: slow
import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { closers } from '../support/closers.ts'
import { eventually } from '../support/eventually.ts'
import { call, callMessage, freePort, RawClient, startUpstream, toolCall } from '../support/wire.ts'
import { type RuledSquall, startSquall } from '../support/commands.ts'
import { failing } from './rules-directory.ts'

const opened = closers()
const TOKEN = 'a-token-that-is-long-enough-for-this'

/** The rule that closes the port when the tool `shut` is called. */
function refusing(refuse: string, more = ''): string {
  return `rules:
  - name: refused
    match: { tool: shut }
    ${more}
    faults: [reset: { at: connect, refuse: ${refuse} }]
`
}

async function start(rules: string, ...flags: string[]) {
  const port = await freePort()
  const pod = opened(
    await startSquall({
      rules,
      flags: ['--listen', `127.0.0.1:${port}`, ...flags],
      env: { SQUALL_ADMIN_TOKEN: TOKEN },
    }),
  )
  return { pod, port }
}

/** Returns the result of a call on a new connection, or the code of the failure. */
function tryCall({ text }: RuledSquall): Promise<string> {
  return text().catch((error: NodeJS.ErrnoException) => error.code ?? error.message)
}

async function meets(pod: RuledSquall, wanted: string): Promise<void> {
  await eventually(async () => {
    const now = await tryCall(pod)
    return now === wanted ? undefined : `calls meet ${now}, not ${wanted}`
  })
}

it.each(['fast', 'standard'])(
  'new connections get ECONNREFUSED for the time, and open ones continue, with %s',
  async (engine) => {
    const { pod, port } = await start(refusing('2s'), '--engine', engine)
    const { squall } = pod
    const client = await RawClient.connect(port)
    await client.send(toolCall(1, 'shut'), 'POST')
    await client.response(0)
    await meets(pod, 'ECONNREFUSED')
    await client.send(toolCall(2, 'shut'), 'POST')
    await client.response(1)
    expect(client.responses.map(({ status }) => status)).toEqual([200, 200])
    expect(await squall.metric('squall_faults_injected_total', { rule: 'refused' })).toBe(1)
    expect((await squall.readiness()).status).toBe(200)
    expect(await tryCall(pod)).toBe('ECONNREFUSED')
    await meets(pod, 'fine')
    expect(await pod.text('shut')).toBe('fine')
    await squall.reaches('squall_faults_injected_total', { rule: 'refused' }, 2)
    client.socket.destroy()
  },
)

it.each<[string, (pod: RuledSquall) => unknown]>([
  ['a reload without the rule', ({ mounted }) => mounted.swap(failing('other', 'other'))],
  ['a reload that changes the rule', ({ mounted }) => mounted.swap(refusing('59m'))],
  ['a file that is gone', ({ mounted }) => mounted.swap('rules: []')],
  [
    'disarming',
    async ({ squall }) => {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const { status } = await fetch(`${squall.admin}/api/disarm`, { method: 'POST', headers })
      expect(status).toBe(200)
    },
  ],
])('%s opens the port at once', async (_, end) => {
  const { pod } = await start(refusing('1h'))
  expect(await pod.text('shut')).toBe('fine')
  await meets(pod, 'ECONNREFUSED')
  await end(pod)
  await meets(pod, 'fine')
})

it('the port opens when the rule expires', async () => {
  const now = new Date().toISOString()
  const { pod } = await start(refusing('1h', `appliedAt: ${now}\n    for: 1s`))
  expect(await pod.text('shut')).toBe('fine')
  await meets(pod, 'ECONNREFUSED')
  await meets(pod, 'fine')
  expect(Date.now() - Date.parse(now)).toBeGreaterThanOrEqual(1000)
})

it('a port that was taken meanwhile is tried again until it is free', async () => {
  const { pod, port } = await start(refusing('1h'))
  await pod.text('shut')
  await meets(pod, 'ECONNREFUSED')
  const other = await startUpstream(createServer(), { host: '127.0.0.1', port })
  await pod.mounted.swap('rules: []')
  expect(await pod.squall.logged('retrying to open a listener')).toMatchObject({ level: 'warn' })
  await other.close()
  await meets(pod, 'fine')
})

it('a drain ends while the port is refused, and leaves it closed', async () => {
  const { pod } = await start(refusing('1h'))
  await pod.text('shut')
  await meets(pod, 'ECONNREFUSED')
  await pod.squall.running.drain()
  expect(await tryCall(pod)).toBe('ECONNREFUSED')
})

it('cannot act on a Unix socket, which would vanish', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'squall-port-'))
  opened({ close: () => rm(directory, { recursive: true }) })
  const socketPath = join(directory, 'mcp.sock')
  const { squall } = opened(
    await startSquall({ rules: refusing('1h'), flags: ['--listen', `unix:${socketPath}`] }),
  )
  expect((await call({ socketPath }, callMessage(1, 'shut'))).status).toBe(200)
  await squall.reaches('squall_rule_evaluations_total', { result: 'not_applicable' }, 1)
  expect((await call({ socketPath }, callMessage(2))).status).toBe(200)
})
