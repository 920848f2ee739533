import { mkdtemp, rm, stat } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { preStopCommand } from '../../../src/cli/commands/pre-stop.ts'
import { waitReadyCommand } from '../../../src/cli/commands/wait-ready.ts'
import { failing } from '../../live/rules-directory.ts'
import { assemble } from '../../../src/sidecar/assemble.ts'
import type { RunOptions } from '../../../src/sidecar/run-options.ts'
import { createLogger } from '../../../src/telemetry/log.ts'
import { asked, askedBy } from '../../support/commands/command-line.ts'
import { freePort, responding, startUpstream } from '../../support/wire.ts'
import { type RuledSquall, startProgram, startSquall } from '../../support/commands.ts'

const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close()
})

interface Controlled {
  readonly ruled: RuledSquall
  readonly socketPath: string
}

/** Squall with a rule that fails every call, and a control socket. */
async function controlled(): Promise<Controlled> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-control-'))
  closers.push(() => rm(directory, { recursive: true }))
  const socketPath = join(directory, 'control.sock')
  const ruled = await startSquall({
    rules: failing('broken'),
    flags: ['--control', `unix:${socketPath}`],
  })
  closers.push(() => ruled.close())
  return { ruled, socketPath }
}

/** Returns the output of the command, with its exit code. */
async function preStop(socketPath: string, wait: string): Promise<readonly [number, string]> {
  const args = ['pre-stop', '--control', `unix:${socketPath}`, '--stop-wait', wait]
  const { code, stdout } = await startProgram(args, {}, { here: true })
  return [code, stdout.trim()]
}

describe('pre-stop', () => {
  test('disarms at once, and traffic is served as before', async () => {
    const { ruled, socketPath } = await controlled()
    expect(await ruled.text()).toBe('broken')
    expect(await preStop(socketPath, '0s')).toEqual([0, 'disarmed; the upstream is still running'])
    expect(await ruled.text()).toBe('fine')
    expect((await ruled.squall.readiness()).ready).toBe(true)
    const state = (await (await fetch(`${ruled.squall.admin}/api/state`)).json()) as object
    expect(JSON.stringify(state)).toContain('the pod is terminating')
  })

  test('returns when the upstream is gone', async () => {
    const { ruled, socketPath } = await controlled()
    let isOver = false
    const stopped = preStop(socketPath, '10s').finally(() => (isOver = true))
    await ruled.squall.logged('disarmed')
    expect(await ruled.text()).toBe('fine')
    expect(isOver).toBe(false)
    await ruled.app.close()
    expect(await stopped).toEqual([0, 'disarmed; the upstream has exited'])
  })

  test('waits the whole time where no upstream shows that the pod has ended', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'squall-control-'))
    closers.push(() => rm(directory, { recursive: true }))
    const socketPath = join(directory, 'control.sock')
    const app = await startUpstream(responding('fine'))
    closers.push(() => app.close())
    const route = `127.0.0.1:0=127.0.0.1:${app.port}`
    const args = ['run', '--outbound', route, '--admin', 'off', '--control', `unix:${socketPath}`]
    const logger = createLogger({ level: 'error', format: 'json' })
    const running = await assemble(asked(args) as RunOptions, logger)
    closers.push(() => running.close())
    const begun = performance.now()
    const result = [0, 'disarmed; there is no upstream to wait for']
    expect(await preStop(socketPath, '600ms')).toEqual(result)
    expect(performance.now() - begun).toBeGreaterThanOrEqual(600)
  })

  test('the socket is for its owner alone, and does nothing else', async () => {
    const { socketPath, ruled } = await controlled()
    expect((await stat(socketPath)).mode & 0o777).toBe(0o600)
    const ask = (method: string, path: string): Promise<number> =>
      new Promise((resolve, reject) => {
        const sent = request({ socketPath, method, path, agent: false }, (response) => {
          response.resume()
          resolve(response.statusCode!)
        })
        sent.on('error', reject).end()
      })
    expect(await ask('GET', '/pre-stop')).toBe(404)
    expect(await ask('POST', '/api/disarm')).toBe(404)
    expect(await ask('POST', '/pre-stop?wait=-1')).toBe(400)
    expect(await ask('POST', '/pre-stop?wait=1e9')).toBe(400)
    expect(await ruled.text()).toBe('broken')
    expect((await fetch(`${ruled.squall.admin}/pre-stop`, { method: 'POST' })).status).toBe(404)
  })

  test('without a sidecar it says so', async () => {
    await expect(preStopCommand({ socketPath: '/nowhere/x.sock', waitMs: 0 })).rejects.toThrow(
      'no squall run at /nowhere/x.sock: connect ENOENT',
    )
  })

  test('its options', () => {
    const env = { SQUALL_CONTROL: 'unix:/run/squall/control.sock' }
    expect(askedBy('pre-stop', {}, env)).toEqual({
      socketPath: '/run/squall/control.sock',
      waitMs: 20_000,
    })
    expect(() => askedBy('pre-stop', {})).toThrow('--control is missing')
    expect(() => askedBy('pre-stop', { control: '0.0.0.0:1' })).toThrow('invalid control socket')
  })
})

describe('wait-ready', () => {
  test('is there once traffic is taken, be the upstream there or not', async () => {
    const port = await freePort()
    const upstream = `http://127.0.0.1:${port}`
    const squall = await startSquall('--upstream', upstream)
    closers.push(() => squall.close())
    const admin = { kind: 'tcp', host: '127.0.0.1', port: squall.running.admin!.port } as const
    expect(await waitReadyCommand({ admin, waitMs: 2000, withApp: false })).toBe(0)
    await expect(waitReadyCommand({ admin, waitMs: 100, withApp: true })).rejects.toThrow(
      `is not ready after 100 ms: ${upstream} does not accept connections`,
    )
    const app = await startUpstream(responding('fine'), { host: '127.0.0.1', port })
    closers.push(() => app.close())
    expect(await waitReadyCommand({ admin, waitMs: 5000, withApp: true })).toBe(0)
  })

  test('gives up in time where nothing listens', async () => {
    const admin = { kind: 'unix', path: '/nowhere/admin.sock' } as const
    await expect(waitReadyCommand({ admin, waitMs: 100, withApp: false })).rejects.toThrow(
      'squall run at unix:/nowhere/admin.sock is not ready after 100 ms: connect ENOENT',
    )
  })

  test('its options', () => {
    const parse = (admin: string) =>
      (askedBy('wait-ready', { admin }) as Parameters<typeof waitReadyCommand>[0]).admin
    expect(parse(':15390')).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 15390 })
    expect(parse('0.0.0.0:1')).toEqual({ kind: 'tcp', host: '127.0.0.1', port: 1 })
    expect(parse('[fd00::1]:1')).toEqual({ kind: 'tcp', host: 'fd00::1', port: 1 })
    expect(() => parse('off')).toThrow('enable the admin port of squall run')
  })
})
