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
  directory = await mkdtemp(join(tmpdir(), 'squall-stop-'))
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
  expect(await squall('stop', '-t', address, '--reason', 'demo is over')).toEqual(said('disarmed'))
  expect(await isArmed()).toBe(false)
  expect(await sidecar.logged('disarmed')).toMatchObject({ reasons: [{ reason: 'demo is over' }] })
  expect(await squall('stop', '-t', address)).toEqual(said('disarmed already'))
  expect(await squall('resume', '-t', address)).toEqual(said('armed'))
  expect(await isArmed()).toBe(true)
  expect(await squall('resume', '-t', address)).toEqual(said('armed already'))
})

it('reports each sidecar, and fails when one does not confirm', async () => {
  const gone = '127.0.0.1:4'
  const { code, stdout } = await squall('stop', '-t', address, '-t', gone, '--json')
  expect(code).toBe(1)
  const { sidecars } = JSON.parse(stdout) as { sidecars: object[] }
  expect(sidecars).toEqual([
    { address, ok: true, armed: false, changed: true, text: 'disarmed' },
    { address: gone, ok: false, text: expect.stringContaining('connection refused') as unknown },
  ])
  await squall('resume', '-t', address)
})

it('says what a refused token means, and never shows it', async () => {
  await writeFile(join(directory, 'wrong'), 'another-token-than-that-of-the-sidecar', {
    mode: 0o600,
  })
  const args = ['stop', '-t', address, '--admin-token-file', join(directory, 'wrong')]
  const { code, stdout, stderr } = await startProgram(args, {}, { here: true })
  expect({ code, stderr }).toEqual({ code: 1, stderr: '' })
  expect(stdout).toMatch(/token/)
  expect(stdout).not.toMatch(/another-token/)
  expect(await isArmed()).toBe(true)
})

it.each(['stop', 'resume'])('%s without a target names both ways', async (command) => {
  const { code, stderr } = await startProgram([command], {}, { here: true })
  expect(code).toBe(2)
  expect(stderr).toBe(
    'squall: no admin token; set SQUALL_ADMIN_TOKEN or --admin-token-file to the token of the sidecar, or use -n NAMESPACE for a cluster\n',
  )
})

const EITHER = 'use -t for sidecars by their admin ports, or -n for a namespace of a cluster\n'

it.each([
  [['-n', 'shop'], '--namespace'],
  [['-A'], '--all-namespaces'],
  [['--dry-run'], '--dry-run'],
])('a sidecar and %j are mutually exclusive', async (flags, name) => {
  for (const command of ['stop', 'resume']) {
    const args = [command, '-t', address, ...flags]
    const { code, stderr } = await startProgram(args, {}, { here: true })
    expect(code).toBe(2)
    expect(stderr).toBe(`squall: --sidecar and ${name} are mutually exclusive; ${EITHER}`)
  }
  expect(await isArmed()).toBe(true)
})

it('goes to the cluster by its flags, and by their variables', async () => {
  const env = { KUBECONFIG: join(directory, 'none') }
  for (const [args, more] of [
    [['stop', '-n', 'shop'], {}],
    [['resume', '-A'], {}],
    [['stop'], { SQUALL_NAMESPACE: 'shop' }],
    [['stop'], { SQUALL_CONTEXT: 'staging' }],
    [['stop'], { SQUALL_ALL_NAMESPACES: 'true' }],
    [['resume'], { SQUALL_SELECTOR: 'app=shop' }],
    [['stop'], { SQUALL_DRY_RUN: 'true' }],
    [['stop'], { SQUALL_PRODUCTION: 'true' }],
    [['stop'], { SQUALL_KUBECONFIG: env.KUBECONFIG }],
  ] as const) {
    const { code, stderr } = await startProgram(args, { ...env, ...more }, { here: true })
    expect(code).toBe(2)
    expect(stderr).toContain(join(directory, 'none'))
  }
})

it.each(['x'.repeat(201), ' ', '', 'two\nlines'])('rejects the reason %j', async (reason) => {
  const { code, stdout, stderr } = await squall('stop', '-t', address, '--reason', reason)
  expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
  expect(stderr).toMatch(/^squall: --reason: .*; write one line of 1 to 200 characters\n$/)
  expect(await isArmed()).toBe(true)
})

it('sends a reason of 200 characters', async () => {
  const reason = '🌊'.repeat(200)
  expect(await squall('stop', '-t', address, '--reason', reason)).toMatchObject({ code: 0 })
  expect(await squall('resume', '-t', address)).toMatchObject({ code: 0 })
})
