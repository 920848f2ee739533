import { execFileSync } from 'node:child_process'
import { mkdtemp, readFile, realpath, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { notePolicy, trustedDigest, trustPolicy } from '../../src/policy/trust.ts'

const HOOKS = new URL('../../../../deploy/agents/plugin/hooks/hooks.json', import.meta.url)
const POLICY = 'squall-policy.yaml'
let directory: string
let state: string

beforeAll(async () => {
  directory = await realpath(await mkdtemp(join(tmpdir(), 'squall-noted-')))
  state = join(directory, 'state/squall')
})

afterAll(() => rm(directory, { recursive: true }))

/** Runs the hook of the plugin without the program; false when it does not ask for it. */
async function asksForSquall(): Promise<boolean> {
  const { hooks } = JSON.parse(await readFile(HOOKS, 'utf8')) as {
    hooks: { PreToolUse: [{ hooks: [{ command: string }] }] }
  }
  const env = {
    PATH: '/usr/bin:/bin',
    CLAUDE_PROJECT_DIR: directory,
    XDG_STATE_HOME: join(directory, 'state'),
  }
  try {
    execFileSync('sh', ['-c', hooks.PreToolUse[0].hooks[0].command], { env, stdio: 'pipe' })
    return false
  } catch {
    return true
  }
}

it('the hook of the plugin misses a policy that nobody trusted and that was deleted', async () => {
  const policy = join(directory, POLICY)
  await notePolicy(state, policy)
  expect(await asksForSquall()).toBe(false)
  await writeFile(policy, '')
  await notePolicy(state, policy)
  await rm(policy)
  expect(await asksForSquall()).toBe(true)
  expect(await trustedDigest(state, policy)).toBeUndefined()
})

it('a note does not replace the digest that a person trusts', async () => {
  const policy = join(directory, POLICY)
  await writeFile(policy, '')
  await trustPolicy(state, policy, { digest: 'sha256:1', by: 'ann' })
  await notePolicy(state, policy)
  expect(await trustedDigest(state, policy)).toBe('sha256:1')
})
