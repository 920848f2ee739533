import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { Environment } from '../../../src/base/flags/flag.ts'
import { ownNamespace } from '../../../src/sidecar/flags/production.ts'
import type { LoadRequest } from '../../../packages/experiments/src/commands/load.ts'
import { loadInputs } from '../../../packages/experiments/src/cli/load-inputs.ts'
import type { RunOptions } from '../../../src/sidecar/run-options.ts'
import { asked } from '../../support/commands/command-line.ts'
import { startProgram } from '../../support/commands.ts'

const neverArmed = (args: readonly string[], env: Environment = {}): string | undefined =>
  (asked(['run', ...args], env) as RunOptions).rules.neverArmed

describe('the sidecar', () => {
  it.each([
    [['--environment', 'shop-prod'], {}, '--environment "shop-prod" counts as production'],
    [[], { SQUALL_ENVIRONMENT: 'prod-eu-1' }, 'SQUALL_ENVIRONMENT "prod-eu-1" counts'],
    [[], { ENVIRONMENT: 'LIVE' }, 'ENVIRONMENT "LIVE" counts as production (it matches live)'],
    [[], { NODE_ENV: 'production' }, 'NODE_ENV "production" counts'],
    [[], { POD_NAMESPACE: 'shop-prd' }, 'the namespace of this pod "shop-prd" counts'],
    // Names that are mutually exclusive may mean production.
    [['--environment', 'staging'], { ENVIRONMENT: 'production' }, 'ENVIRONMENT "production"'],
  ])('is never armed with %j and %j', (args, env, why) => {
    const reason = neverArmed(args, env)
    expect(reason).toContain(why)
    expect(reason).toContain('--allow-production')
    expect(neverArmed([...args, '--allow-production'], env)).toBeUndefined()
  })

  it.each<[readonly string[], Environment]>([
    [[], {}],
    [[], { ENVIRONMENT: '', NODE_ENV: 'test' }],
    // Images set NODE_ENV: it counts only where nothing else names an environment.
    [['--environment', 'staging'], { NODE_ENV: 'production' }],
    [[], { ENVIRONMENT: 'staging', NODE_ENV: 'production' }],
    [['--environment', 'kund-live', '--production-names', 'prod*,prd'], {}],
    [['--environment', 'prod-copy', '--production-names', 'prod*,!prod-copy'], {}],
  ])('is armed with %j and %j', (args, env) => {
    expect(neverArmed(args, env)).toBeUndefined()
  })

  it('reads the namespace of its service account, and only in a pod', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'squall-production-'))
    try {
      const file = join(directory, 'namespace')
      await writeFile(file, 'shop-prod\n')
      const env = { KUBERNETES_SERVICE_HOST: '10.0.0.1' }
      expect(ownNamespace(env, file).name).toBe('shop-prod')
      expect(ownNamespace(env, `${file}.gone`).name).toBeUndefined()
      expect(ownNamespace({}, file).name).toBeUndefined()
      expect(ownNamespace({ ...env, POD_NAMESPACE: 'shop' }, file).name).toBe('shop')
    } finally {
      await rm(directory, { recursive: true })
    }
  })

  it('takes no pattern that means nothing', () => {
    expect(() => neverArmed(['--production-names', 'prod*,'])).toThrow('write words or globs')
  })
})

describe('squall load', () => {
  const load = (target: string, args: readonly string[], env: Environment): Promise<unknown> =>
    loadInputs(asked(['load', '--target', target, ...args], env) as LoadRequest, '0.0.0')

  it.each<[string, readonly string[], Environment, string]>([
    ['https://mcp.prod.example.com/mcp', [], {}, 'the host of --target, "mcp.prod.example.com"'],
    ['http://mcp.shop-prod.svc:3000/mcp', [], {}, 'the host of --target, "mcp.shop-prod.svc"'],
    ['https://id.execute-api.example/prod/mcp', [], {}, 'the path of --target, "/prod/mcp"'],
    ['http://127.0.0.1:3000/mcp', ['--environment', 'prd'], {}, '--environment "prd"'],
    ['http://127.0.0.1:3000/mcp', [], { ENVIRONMENT: 'Production' }, 'ENVIRONMENT "Production"'],
    ['http://127.0.0.1:3000/mcp', [], { NODE_ENV: 'production' }, 'NODE_ENV "production"'],
  ])('does not call %s with %j and %j', async (target, args, env, found) => {
    const call = (): Promise<unknown> => load(target, args, env)
    await expect(call).rejects.toThrow(found)
    await expect(call).rejects.toThrow('--allow-production continues anyway')
    await load(target, [...args, '--allow-production'], env)
    await load(target, args, { ...env, SQUALL_ALLOW_PRODUCTION: 'true' })
  })

  it.each<[string, readonly string[], Environment]>([
    ['https://product-catalog.example.com/mcp', [], {}],
    ['http://mcp.preprod.svc/mcp', [], {}],
    ['http://127.0.0.1:3000/mcp', ['--environment', 'ci'], { NODE_ENV: 'production' }],
  ])('calls %s with %j and %j', async (target, args, env) => {
    expect(await load(target, args, env)).toMatchObject({ target: { url: new URL(target) } })
  })

  it('ends with 2', async () => {
    const { code, stderr } = await startProgram([
      'load',
      '--target',
      'http://mcp.prod.invalid/mcp',
    ]).finished()
    expect(code).toBe(2)
    expect(stderr).toContain('mcp.prod.invalid')
  })
})
