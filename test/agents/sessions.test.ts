import { describe, expect, it } from 'vitest'
import { FAILED, watched } from './agents.ts'

const CALL = { tool: 'pay', args: { a: 1 } }

/** An agent that opens a session for each call, or leaves it open. */
function agentOf(setup: ReturnType<typeof watched>, peer = '127.0.0.1') {
  const { begin, end, call, watch } = setup
  return {
    open: (session: string): void => {
      const opened = begin({ method: 'initialize', session: '', peer })
      watch.sessionBegan(opened!, session)
      end(opened)
    },
    call: (session: string, ended = {}): void => call({ ...CALL, session, peer }, ended),
    leave: (session: string): void => watch.sessionLeft(session),
  }
}

describe('a session that follows a failed call', () => {
  it('is of its task, whatever sessions its client has ended before', () => {
    const setup = watched()
    const agent = agentOf(setup)
    for (const [session, ended] of [
      ['a', {}],
      ['b', FAILED],
      ['c', {}],
    ] as const) {
      agent.open(session)
      agent.call(session, ended)
      agent.leave(session)
    }
    expect(setup.verdicts).toEqual(['retried'])
    expect(
      [...setup.watch.tasks()].map(({ task }) => [task.key, task.sums.retries]),
    ).toContainEqual(['b', 1])
  })

  it('is ambiguous while another session of its client is open', () => {
    const setup = watched()
    const agent = agentOf(setup)
    agent.open('a')
    agent.call('a')
    agent.open('b')
    agent.call('b', FAILED)
    agent.leave('b')
    agent.open('c')
    agent.call('c')
    expect(setup.verdicts).toEqual(['ambiguous'])
  })

  it('is ambiguous while two tasks of its client wait', () => {
    const setup = watched()
    const agent = agentOf(setup)
    for (const session of ['a', 'b']) agent.open(session)
    for (const session of ['a', 'b']) agent.call(session, FAILED)
    for (const session of ['a', 'b']) agent.leave(session)
    agent.open('c')
    agent.call('c')
    expect(setup.verdicts).toEqual(['ambiguous', 'ambiguous'])
  })

  it('is of its task after any number of sessions, of which a few are kept', () => {
    const setup = watched({ maxRetries: 60 })
    const agent = agentOf(setup)
    for (let i = 0; i < 50; i++) {
      agent.open(`s${i}`)
      agent.call(`s${i}`, FAILED)
      agent.leave(`s${i}`)
    }
    const tasks = [...setup.watch.tasks()].map(({ task }) => task)
    const task = tasks.find(({ kind }) => kind === 'session')
    expect(tasks.filter(({ kind }) => kind === 'session')).toHaveLength(1)
    expect([task?.sums.retries, task?.aliases.length]).toEqual([49, 8])
  })

  it('of another client is another task', () => {
    const setup = watched()
    const agent = agentOf(setup)
    const other = agentOf(setup, '127.0.0.2')
    agent.open('a')
    agent.call('a', FAILED)
    agent.leave('a')
    other.open('b')
    other.call('b')
    setup.wait(1100)
    expect(setup.verdicts).toEqual(['gave_up'])
  })
})
