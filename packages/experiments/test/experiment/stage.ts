import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ExperimentOptions } from '../../src/experiment/context.ts'
import type { ExperimentResult } from '../../src/experiment/experiment-result.ts'
import { LocalSidecar } from '../../src/experiment/local-sidecar.ts'
import { readAndKeep } from '../../src/experiment/read-plan.ts'
import type { Plan } from '../../src/experiment/plan.ts'
import type { RejectionCode } from '../../src/experiment/rejection.ts'
import { RejectedError } from '../../src/experiment/rejection.ts'
import type { Sidecars } from '../../src/experiment/sidecars.ts'
import { runExperiment } from '../../src/experiment/run-experiment.ts'
import {
  type CallScript,
  type ScriptedServer,
  startUpstream,
} from '../../../../test/support/wire.ts'
import type { Squall } from '../../../../test/support/commands.ts'

/** The parts of a plan that a test sets; deeper keys replace those of the default plan. */
export type Changes = Readonly<Record<string, unknown>>

/** A sidecar with a rules file in front of a server, and plans for it. */
export interface ExperimentStage {
  readonly directory: string
  readonly rulesFile: string
  readonly squall: Squall
  readonly server: ScriptedServer
  /** The text of a plan: small and quick. */
  text(changes?: Changes): string
  plan(changes?: Changes): Promise<Plan>
  /** A plan with its sidecar. */
  placed(changes?: Changes): Promise<{ readonly plan: Plan; readonly sidecars: Sidecars }>
  run(changes?: Changes, options?: Partial<ExperimentOptions>): Promise<ExperimentResult>
  /** The codes with which an experiment is rejected. */
  rejected(
    changes?: Changes,
    options?: Partial<ExperimentOptions>,
  ): Promise<readonly RejectionCode[]>
  rules(): Promise<string | undefined>
  close(): Promise<void>
}

/** The text of the rules file before the experiment. */
export const BEFORE = '# nothing yet\nrules: []\n'

/** The server's script and tools, and the flags and environment of Squall. */
export interface ExperimentSetup {
  readonly script?: CallScript
  readonly flags?: readonly string[]
  readonly tools?: readonly object[]
  readonly env?: Readonly<Record<string, string>>
}

/** Starts the server and Squall; called by `startSquall`. */
export async function experimentStage(
  { script = () => 'ok', flags = ['--environment', 'staging'], tools, env = {} }: ExperimentSetup,
  start: (flags: readonly string[], env: Readonly<Record<string, string>>) => Promise<Squall>,
): Promise<ExperimentStage> {
  const directory = await mkdtemp(join(tmpdir(), 'squall-experiment-'))
  const rulesFile = join(directory, 'rules.yaml')
  await writeFile(rulesFile, BEFORE)
  await mkdir(join(directory, 'state'))
  const server = await startUpstream('scripted', script, tools)
  const upstream = ['--upstream', server.url.origin, '--rules', rulesFile]
  const squall = await start([...upstream, ...flags], env)
  const text: ExperimentStage['text'] = (changes = {}) =>
    JSON.stringify(mergePlans(usual(squall, rulesFile), changes), null, 2)
  const plan: ExperimentStage['plan'] = async (changes) => {
    const file = join(directory, 'plan.yaml')
    const { read } = await readAndKeep(file, text(changes), (path) => readFile(path, 'utf8'))
    if (!read.ok) throw new Error(JSON.stringify(read.problems))
    return read.plan
  }
  const placed: ExperimentStage['placed'] = async (changes) => {
    const read = await plan(changes)
    if (read.sidecar.kind !== 'local') throw new Error('the plan is for pods')
    return { plan: read, sidecars: new LocalSidecar(read.sidecar) }
  }
  const run: ExperimentStage['run'] = async (changes, options) =>
    runExperiment({
      ...(await placed(changes)),
      version: '0.0.0',
      headers: {},
      stateDirectory: join(directory, 'state'),
      stop: new AbortController().signal,
      past: [],
      onEvent: () => {},
      ...options,
    })
  return {
    directory,
    rulesFile,
    squall,
    server,
    text,
    plan,
    placed,
    run,
    rejected: async (changes, options) => {
      try {
        await run(changes, options)
      } catch (error) {
        if (error instanceof RejectedError) return error.rejections.map(({ code }) => code)
        throw error
      }
      return []
    },
    rules: () => readFile(rulesFile, 'utf8').catch(() => undefined),
    close: async () => {
      await squall.close()
      await server.close()
      await rm(directory, { recursive: true, force: true })
    },
  }
}

function usual({ port, admin }: Squall, rulesFile: string): Changes {
  return {
    name: 'test',
    seed: 1,
    target: { url: `http://127.0.0.1:${port}/mcp`, environment: 'staging' },
    sidecar: { admin, rulesFile },
    steadyState: { errors: '1%', for: '300ms', within: '8s' },
    rules: [{ name: 'broken', match: { tool: 'work' }, faults: [{ abort: { toolError: 'no' } }] }],
    stages: ['20%'],
    hold: '600ms',
    load: { clients: 2, rate: 100, tools: ['work'] },
    abortOn: { errors: '90%' },
  }
}

/** Puts changes over a plan; what is `undefined` is taken out. */
export function mergePlans(base: Changes, changes: Changes): Changes {
  const merged: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(changes)) {
    const below = merged[key]
    merged[key] = isObject(below) && isObject(value) ? mergePlans(below, value) : value
  }
  return merged
}

function isObject(value: unknown): value is Changes {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
