// part: slow
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { AdminEndpoint } from '../../../../src/admin/contract/endpoint.ts'
import { topLive } from '../../src/top/live-screen.ts'
import { topLines, topOnce } from '../../src/top/top.ts'
import { failing } from '../../../../test/live/rules-directory.ts'
import { closers } from '../../../../test/support/closers.ts'
import { eventually } from '../../../../test/support/eventually.ts'
import { freePort } from '../../../../test/support/wire.ts'
import { FakeTerminal } from './fake-terminal.ts'
import { type RuledSquall, startSquall } from '../../../../test/support/commands.ts'

const opened = closers()
const TOKEN = 'a-token-of-the-top-tests'
const TIMES = { silenceMs: 4_000, retryMs: 50 }
const HOSTILE = '\u001b]0;owned\u0007\u009b2J\u202etool'

async function sidecar(rule: string, flags: readonly string[] = []): Promise<RuledSquall> {
  return opened(await startSquall({ rules: failing(rule), flags }))
}

function endpointOf({ squall }: RuledSquall): AdminEndpoint {
  return { host: '127.0.0.1', port: squall.running.admin!.port }
}

async function tokenFlags({ mounted }: RuledSquall): Promise<readonly string[]> {
  const file = join(mounted.directory, 'token')
  await writeFile(file, TOKEN)
  return ['--admin-token-file', file]
}

const once = async (endpoints: readonly AdminEndpoint[], json: boolean) => {
  let text = ''
  const write = (part: string): void => void (text += part)
  const code = await topOnce({
    endpoints,
    json,
    colours: false,
    width: 80,
    write,
    timeoutMs: 15_000,
  })
  return { code, text }
}

/** Collects the output to a pipe until its reader ends. */
async function firstLines(
  endpoints: readonly AdminEndpoint[],
): Promise<{ plain: string; json: string }> {
  const [plain, json] = [new FakeTerminal(false), new FakeTerminal(false)]
  const ended = [topLines(endpoints, false, plain), topLines(endpoints, true, json)]
  await eventually(() => (json.written === '' || plain.written === '' ? 'nothing yet' : undefined))
  for (const terminal of [plain, json]) terminal.emit('error', new Error('EPIPE'))
  expect(await Promise.all(ended)).toEqual([0, 0])
  return { plain: plain.written, json: json.written }
}

it('writes the state of several sidecars as lines or JSON without a screen, and fails when one is not connected', async () => {
  const first = await sidecar('one')
  const second = await sidecar('two')
  for (let i = 0; i < 3; i++) await first.ask()
  await second.ask()
  await second.ask(HOSTILE)
  const nobody = { host: '127.0.0.1', port: 1 }
  const [{ code, text }, alone, lines] = await Promise.all([
    once([endpointOf(first), endpointOf(second), nobody], true),
    once([endpointOf(first)], false),
    firstLines([endpointOf(first), nobody]),
  ])
  expect(code).toBe(1)
  expect(text).toMatch(/^[^\n]+\n$/)
  expect(text).toMatch(/^[\u0020-\u007e\n\ufffd]*$/)
  expect(JSON.parse(text)).toMatchObject({
    sidecars: [
      { link: 'live', armed: true, generation: 1, ruleCount: 1, sampled: 3, faultsTotal: 3 },
      { link: 'live', sampled: 1, perSecond: { calls: 0, injected: 0, real: 0, squall: 0 } },
      { address: '127.0.0.1:1', link: 'lost', problem: 'connection refused' },
    ],
    differentRules: true,
    rules: [
      { name: 'one', state: 'on', on: 1, of: 1, matched: 3, sampled: 3, applied: 3 },
      { name: 'two', state: 'on', on: 1, of: 1, matched: 1, sampled: 1, applied: 1 },
    ],
    tools: [
      { tool: 'probe', calls: 4, injected: 4, real: 0, squall: 0, elsewhere: 0 },
      { tool: '\ufffd]0;owned\ufffd\ufffd2J\ufffdtool', calls: 1, injected: 0 },
    ],
    faults: [{ called: 'probe' }, { called: 'probe' }, { called: 'probe' }, { called: 'probe' }],
  })
  expect(alone.code).toBe(0)
  expect(alone.text).toMatch(/^ squall top {2}1 sidecar, 1 armed/)
  expect(alone.text).toMatch(/ 1 {2}127\.0\.0\.1:\d+ +armed +[0-9a-f]{8} g1 +0 +0 +0 +3\n/)
  expect(alone.text).not.toContain('DIFFERENT')
  const [plain, gone] = lines.plain.split('\n')
  expect(plain).toMatch(
    /^\d{4}-\S+Z 127\.0\.0\.1:\d+ armed rules=[0-9a-f]{8} g1 calls\/s=\S+ injected\/s=\S+ real\/s=\S+ sampled=3$/,
  )
  expect(gone).toMatch(/ 127\.0\.0\.1:1 LOST, trying again: connection refused$/)
  expect(lines.plain).not.toContain('\u001b')
  for (const line of lines.json.trim().split('\n')) {
    expect(JSON.parse(line)).toMatchObject({ sidecars: [{ link: 'live' }, { link: 'lost' }] })
  }
})

it('follows sidecars on a screen: changes, losses, and returns at the same port', async () => {
  const first = await sidecar('one', ['--admin', `127.0.0.1:${await freePort()}`])
  const flags = await tokenFlags(first)
  const second = await sidecar('one', flags)
  const lost = endpointOf(first)
  const terminal = new FakeTerminal()
  const ended = topLive({
    endpoints: [lost, endpointOf(second)],
    token: TOKEN,
    colours: true,
    output: terminal,
    input: terminal,
    times: TIMES,
  })
  await terminal.shows(/2 sidecars, 2 armed/)
  expect(terminal.screen).toMatch(/one +abort +IDLE +0 +0 +0/)
  expect(terminal.raw).toBe(true)

  terminal.press('2')
  await terminal.shows(/sidecar 2 of 2/)
  terminal.press('d')
  await terminal.shows(/disarm 127\.0\.0\.1:\d+\? y\/n/)
  terminal.press('y')
  await terminal.shows(/disarm: 127\.0\.0\.1:\d+ disarmed\n|disarm: 127\.0\.0\.1:\d+ disarmed$/)
  await terminal.shows(/DISARMED[^]*disarmed by operator at [\d:]+: by squall top/)
  expect(second.squall.running.rules!.arming.armed).toBe(false)
  expect(first.squall.running.rules!.arming.armed).toBe(true)
  terminal.press('0')
  terminal.press('a')
  await terminal.shows(/arm all 2 sidecars\? y\/n/)
  terminal.press('y')
  // The first has no token at all.
  await terminal.shows(
    /arm: 127\.0\.0\.1:\d+ responded with status 403: changes require an admin token/,
  )
  expect(second.squall.running.rules!.arming.armed).toBe(true)

  await first.squall.running.close()
  await terminal.shows(/LOST[^]*lost, trying again: /)
  const again = await sidecar('other', ['--admin', `127.0.0.1:${lost.port}`])
  await again.ask()
  await terminal.shows(/≠ DIFFERENT RULES: [0-9a-f]{8} in 1, [0-9a-f]{8} in 2/)
  await terminal.shows(/other +abort +on 1 of 2 +1 +1 +1/)

  terminal.press('q')
  expect(await ended).toBe(0)
  expect(terminal.raw).toBe(false)
  expect(terminal.written.endsWith('\u001b[?25h\u001b[?1049l')).toBe(true)
  expect(terminal.written).not.toContain(TOKEN)
})
