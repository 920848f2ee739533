// part: experiments
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { EndCode } from '../../packages/experiments/src/experiment/experiment-result.ts'
import { dependentListener, type Flaw } from './dependent-server.ts'
import type { Open } from '../support/closers.ts'
import { startSquall } from '../support/commands.ts'
import { againAfterStall } from '../support/stalls.ts'
import { freePort, startUpstream } from '../support/wire.ts'
import { runReady } from './ready-plan.ts'

// Needs nothing more than Node and the built program.

const FLAGS = ['--environment', 'staging']
const NO_GUARD = ['--guard-error-rate', 'off']

async function withRules<T>(
  upstream: string,
  flags: readonly string[],
  use: (directory: string, listen: string, admin: string) => Promise<T>,
): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-ready-'))
  const rules = join(directory, 'rules.yaml')
  await writeFile(rules, 'rules: []\n')
  const squall = await startSquall('--upstream', upstream, '--rules', rules, ...FLAGS, ...flags)
  try {
    return await use(directory, `http://127.0.0.1:${squall.port}`, squall.admin)
  } finally {
    await squall.close()
    await rm(directory, { recursive: true, force: true })
  }
}

const TRIES_MS = 360_000
const TIMES = { hold: '4s', steadyState: { p95: '5s', for: '500ms', within: '30s' } }

type Case = readonly [behaviour: string, flaw: Flaw | undefined, code: RegExp | null]

const code = (...codes: readonly EndCode[]): RegExp => new RegExp(`^(${codes.join('|')})$`)

describe.concurrent('a blocked dependency', () => {
  const CASES: readonly Case[] = [
    ['reports it and recovers', undefined, null],
    ['hangs', 'hangs', code('UNEXPECTED_ERROR')],
    ['cannot be initialized', 'fails to initialize', code('ABORT_CONDITION', 'TARGET_LOST')],
    ['claims to be healthy', 'healthy without dependency', code('NOT_OBSERVED')],
    ['never recovers', 'never recovers', code('NOT_RECOVERED')],
  ]

  test.each(CASES)(
    'of a server that %s',
    (...each) => againAfterStall((open) => blocked(open, ...each)),
    TRIES_MS,
  )

  async function blocked(open: Open, _: string, flaw: Case[1], wanted: Case[2]): Promise<void> {
    const dependency = open(await startUpstream((__, res) => void res.end('{}')))
    const outbound = `127.0.0.1:${await freePort()}`
    const server = open(
      await startUpstream(dependentListener({ dependency: `http://${outbound}`, flaw })),
    )
    const flags = ['--outbound', `${outbound}=127.0.0.1:${dependency.port}`]
    await withRules(server.url, flags, async (directory, listen, admin) => {
      const addresses = {
        'http://localhost:3000': server.url,
        'http://localhost:15300': listen,
        'http://127.0.0.1:15390': admin,
        'port: 5432': `port: ${dependency.port}`,
      }
      const abortOn = { uptime: { limit: '99%', for: '1s' } }
      const changes = { ...TIMES, abortOn, load: { rate: 10, timeout: '8s' } }
      const result = await runReady('dependency-blocked', addresses, directory, changes)
      expect(result.code, result.why).toEqual(
        wanted === null ? null : expect.stringMatching(wanted),
      )
      expect(result).toMatchObject({
        restored: true,
        verdict: wanted === null ? 'passed' : 'failed',
      })
    })
  }
})

describe.concurrent('twenty held sessions', () => {
  const CASES: readonly Case[] = [
    ['slows down and reports it', undefined, null],
    ['claims to be ready', 'ready without room', code('NOT_OBSERVED')],
    ['returns empty results', 'empty without room', code('SLO')],
  ]

  test.each(CASES)(
    'at a server that %s',
    (...each) => againAfterStall((open) => held(open, ...each)),
    TRIES_MS,
  )

  async function held(open: Open, _: string, flaw: Case[1], wanted: Case[2]): Promise<void> {
    const server = open(await startUpstream(dependentListener({ room: 20, flaw })))
    await withRules(server.url, NO_GUARD, async (directory, listen, admin) => {
      const addresses = {
        'http://localhost:3000': server.url,
        'http://localhost:15300': listen,
        'http://127.0.0.1:15390': admin,
      }
      const result = await runReady('held-sessions', addresses, directory, {
        ...TIMES,
        load: { rate: 30 },
      })
      expect(result.code, result.why).toEqual(
        wanted === null ? null : expect.stringMatching(wanted),
      )
      expect(result).toMatchObject({ restored: true, steadyAfter: true })
      const notes = result.facts.filter(({ kind }) => kind === 'note').map(({ text }) => text)
      expect(notes).toEqual(['20 of 20 sessions are open, 20 with a stream'])
    })
  }
})
