import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { manifestsOf, type Manifest } from '../deploy/manifest-problems.ts'

const run = promisify(execFile)

/** The directory of the chart. */
export const CHART = fileURLToPath(new URL('../../deploy/chart/', import.meta.url))

/** The namespace that charts are rendered for. */
export const NAMESPACE = 'squall-system'

/** Where helm is: where `SQUALL_HELM` says, where install.sh puts it, or on `PATH`. */
export const HELM = builtTool('helm', process.env['SQUALL_HELM'])

/**
 * A program that the system tests build themselves, or the one on `PATH`, unless another is chosen.
 */
export function builtTool(name: string, chosen: string | undefined): string {
  const built = ['system-tools', 'cluster']
    .map((directory) =>
      fileURLToPath(new URL(`../../build/${directory}/bin/${name}`, import.meta.url)),
    )
    .find((path) => existsSync(path))
  return chosen ?? built ?? name
}

/** The result of a run of helm. */
export interface HelmRun {
  readonly ok: boolean
  readonly out: string
  readonly error: string
}

/** Why tests that need helm are left out; undefined when it is there. In CI it has to be there. */
export function helmMissing(): string | undefined {
  try {
    execFileSync(HELM, ['version'], { stdio: 'ignore' })
    return undefined
  } catch {
    const why = 'helm 3 is not there: sh test/system/install.sh installs it, where there is go'
    if (process.env['CI'] !== undefined) throw new Error(why)
    return why
  }
}

/** Runs helm; a failure is a result, too. */
export async function helm(args: readonly string[]): Promise<HelmRun> {
  try {
    const { stdout, stderr } = await run(HELM, args, { maxBuffer: 64 * 1024 * 1024 })
    return { ok: true, out: stdout, error: stderr }
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    return { ok: false, out: stdout, error: stderr }
  }
}

/** Renders the chart; `args` are values and other options. */
export function template(args: readonly string[], version = '1.33.0'): Promise<HelmRun> {
  return helm(['template', 'squall', CHART, '-n', NAMESPACE, '--kube-version', version, ...args])
}

/** Renders the chart into objects. Throws the error of helm if it fails. */
export async function rendered(
  args: readonly string[],
  version?: string,
): Promise<readonly Manifest[]> {
  const { ok, out, error } = await template(args, version)
  if (!ok) throw new Error(error)
  return manifestsOf(out)
}

/** Returns the notes after an installation, which helm itself shows only with a cluster. */
export async function notes(args: readonly string[]): Promise<string> {
  const copy = mkdtempSync(join(tmpdir(), 'squall-chart-'))
  try {
    cpSync(CHART, copy, { recursive: true })
    cpSync(join(copy, 'templates/NOTES.txt'), join(copy, 'notes'))
    const text = '{{ tpl (.Files.Get "notes") . | quote }}'
    writeFileSync(join(copy, 'templates/notes.yaml'), `kind: Notes\ntext: ${text}\n`)
    const command = ['template', 'squall', copy, '-n', NAMESPACE, '--kube-version', '1.33.0']
    const { ok, out, error } = await helm([...command, '-s', 'templates/notes.yaml', ...args])
    if (!ok) throw new Error(error)
    return (manifestsOf(out)[0] as unknown as { text: string }).text
  } finally {
    rmSync(copy, { recursive: true, force: true })
  }
}
