import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { parse } from 'yaml'
import { startProgram } from '../support/commands.ts'

interface Step {
  readonly id?: string
  readonly if?: string
  readonly uses?: string
  readonly with?: Readonly<Record<string, string>>
  readonly run?: string
  readonly shell?: string
  readonly env?: Readonly<Record<string, string>>
  readonly 'working-directory'?: string
}

interface Action {
  readonly inputs: Readonly<Record<string, { readonly default?: string; readonly required?: true }>>
  readonly outputs: Readonly<Record<string, { readonly value: string }>>
  readonly runs: { readonly using: string; readonly steps: readonly Step[] }
}

/** The result of an action, as the job sees it. */
export interface ActionRun {
  readonly failed: boolean
  readonly log: string
  readonly outputs: Readonly<Record<string, string>>
  readonly summary: string
  /** Inputs of the actions that it uses, by their names. */
  readonly used: Readonly<Record<string, Readonly<Record<string, string>>>>
}

/**
 * Runs the steps of a composite action as GitHub's runner does: expressions, the files of the
 * environment, and the shell with its options. Steps of other actions are recorded.
 */
export async function runAction(
  file: string,
  directory: string,
  given: Readonly<Record<string, string>>,
): Promise<ActionRun> {
  const { inputs, outputs, runs } = parse(await readFile(file, 'utf8')) as Action
  const temporary = join(directory, 'runner')
  await mkdir(temporary, { recursive: true })
  const values = new Map<string, string>([['github.action_path', dirname(file)]])
  for (const [name, input] of Object.entries(inputs)) {
    values.set(`inputs.${name}`, given[name] ?? input.default ?? '')
  }
  const filled = (text: string): string =>
    text.replaceAll(/\$\{\{ ([\w.-]+) \}\}/g, (_, name: string) => values.get(name) ?? '')
  const all = (texts: Readonly<Record<string, string>> = {}): Record<string, string> =>
    Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, filled(text)]))

  const files = Object.fromEntries(
    ['OUTPUT', 'STEP_SUMMARY', 'ENV'].map((name) => [`GITHUB_${name}`, join(temporary, name)]),
  )
  const used: Record<string, Record<string, string>> = {}
  let log = ''
  let failed = false
  for (const [n, step] of runs.steps.entries()) {
    if (!isDue(step.if, failed, values)) continue
    if (step.uses !== undefined) {
      used[step.uses] = all(step.with)
      continue
    }
    await writeFile(files['GITHUB_OUTPUT']!, '')
    const script = join(temporary, `${n}.sh`)
    await writeFile(script, filled(step.run!))
    const env = { ...all(step.env), ...files, RUNNER_TEMP: temporary }
    const cwd = join(directory, filled(step['working-directory'] ?? '.'))
    const bash = ['--noprofile', '--norc', '-eo', 'pipefail', script]
    const ended = await startProgram(bash, env, { program: step.shell!, cwd }).finished()
    log += ended.stdout + ended.stderr
    failed ||= ended.code !== 0
    for (const line of (await readFile(files['GITHUB_OUTPUT']!, 'utf8')).split('\n')) {
      const [, name, value] = /^(\w+)=(.*)$/.exec(line) ?? []
      if (name !== undefined) values.set(`steps.${step.id}.outputs.${name}`, value!)
    }
  }
  return {
    failed,
    log,
    used,
    outputs: all(Object.fromEntries(Object.entries(outputs).map(([k, { value }]) => [k, value]))),
    summary: await readFile(files['GITHUB_STEP_SUMMARY']!, 'utf8').catch(() => ''),
  }
}

/** Evaluates the conditions that the action uses: `always()`, and whether an output is empty. */
function isDue(
  condition: string | undefined,
  failed: boolean,
  values: ReadonlyMap<string, string>,
): boolean {
  const terms = (condition ?? 'success()').split(' && ')
  return terms.every((term) => {
    if (term === 'always()') return true
    if (term === 'success()') return !failed
    const [, name, operator] = /^([\w.-]+) (==|!=) ''$/.exec(term) ?? []
    if (name === undefined) throw new Error(`the runner does not know the condition ${term}`)
    return ((values.get(name) ?? '') === '') === (operator === '==')
  })
}
