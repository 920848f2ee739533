import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Program, startProgram } from '../support/commands.ts'

const TOKEN = 'a-token-of-the-admin-port-of-tests'
const RULES = 'rules: [{ name: r, faults: [abort: { status: 503 }] }]\n'

let directory: string
let sidecar: Program
let address: string

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-arm-'))
  await writeFile(join(directory, 'rules.yaml'), RULES)
  await writeFile(join(directory, 'token'), `${TOKEN}\n`, { mode: 0o600 })
  const ports = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0']
  const rules = ['--rules', join(directory, 'rules.yaml'), '--ready-without-upstream']
  const token = ['--admin-token-file', join(directory, 'token')]
  sidecar = startProgram(['run', ...ports, ...rules, ...token])
  address = String((await sidecar.logged('admin listening'))['address'])
})

afterAll(async () => {
  await sidecar.kill()
  await rm(directory, { recursive: true })
})

async function squall(...args: readonly string[]) {
  const { code, stdout, stderr } = await startProgram(
    [...args, '--admin-token-file', join(directory, 'token')],
    {},
    { here: true },
  )
  return { code, stdout, stderr }
}

async function isArmed(): Promise<unknown> {
  const response = await fetch(`http://${address}/api/state`)
  return ((await response.json()) as { armed: boolean }).armed
}

it('disarms and arms a sidecar, and says so when nothing changed', async () => {
  const said = (text: string) => ({ code: 0, stdout: `${address}: ${text}\n`, stderr: '' })
  expect(await squall('disarm', address, '--reason', 'demo is over')).toEqual(said('disarmed'))
  expect(await isArmed()).toBe(false)
  expect(await sidecar.logged('disarmed')).toMatchObject({ reasons: [{ reason: 'demo is over' }] })
  expect(await squall('disarm', address)).toEqual(said('disarmed already'))
  expect(await squall('arm', address)).toEqual(said('armed'))
  expect(await isArmed()).toBe(true)
  expect(await squall('arm', address)).toEqual(said('armed already'))
})

it('reports each sidecar, and fails when one does not confirm', async () => {
  const gone = '127.0.0.1:4'
  const { code, stdout } = await squall('disarm', address, gone, '--json')
  expect(code).toBe(1)
  const { sidecars } = JSON.parse(stdout) as { sidecars: object[] }
  expect(sidecars).toEqual([
    { address, ok: true, armed: false, changed: true, text: 'disarmed' },
    { address: gone, ok: false, text: expect.stringContaining('connection refused') as unknown },
  ])
  await squall('arm', address)
})

it('says what a refused token means, and never shows it', async () => {
  await writeFile(join(directory, 'wrong'), 'another-token-than-that-of-the-sidecar', {
    mode: 0o600,
  })
  const args = ['disarm', address, '--admin-token-file', join(directory, 'wrong')]
  const { code, stdout, stderr } = await startProgram(args, {}, { here: true })
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/token/)
  expect(stdout).not.toMatch(/another-token/)
  expect(await isArmed()).toBe(true)
})

it('needs a token', async () => {
  const { code, stderr } = await startProgram(['disarm'], {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toBe(
    'squall: no admin token; set SQUALL_ADMIN_TOKEN or --admin-token-file to the token of the sidecar\n',
  )
})
