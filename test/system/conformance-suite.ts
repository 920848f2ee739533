import { execFile } from 'node:child_process'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { findNode22, systemTool } from './tools.ts'

const run = promisify(execFile)

/** One check of the suite: which scenario made it, what it is and how it ended. */
export interface Check {
  readonly scenario: string
  readonly id: string
  readonly status: string
  readonly problem?: string
}

/** Runs the whole conformance suite against a server and returns every check, in order. */
export async function runConformance(url: string): Promise<Check[]> {
  const suite = systemTool(
    'node_modules/@modelcontextprotocol/conformance/dist/index.js',
    'The conformance suite',
  )
  const node = await findNode22()
  const directory = await mkdtemp(join(tmpdir(), 'squall-conformance-'))
  try {
    // The exit code only tells that a check failed, and the checks tell which one.
    const output = await run(
      node,
      [suite, 'server', '--url', url, '--suite', 'all', '-o', directory],
      {
        timeout: 150_000,
      },
    ).catch((error: { stdout?: string; stderr?: string }) => error)
    const checks = await readChecks(directory)
    if (checks.length === 0) throw new Error(`The suite made no check: ${output.stderr ?? ''}`)
    return checks
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

async function readChecks(directory: string): Promise<Check[]> {
  const checks: Check[] = []
  for (const name of (await readdir(directory)).toSorted()) {
    // The directories are named server-<scenario>-<time>.
    const scenario = name.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT.*$/, '')
    const text = await readFile(join(directory, name, 'checks.json'), 'utf8')
    for (const { id, status, errorMessage } of JSON.parse(text) as Record<string, string>[]) {
      checks.push({
        scenario,
        id: id ?? '',
        status: status ?? '',
        ...(errorMessage !== undefined && { problem: errorMessage }),
      })
    }
  }
  return checks
}
