#!/usr/bin/env node
// First, because loading the rest already makes the heap grow.
// oxlint-disable-next-line import/no-unassigned-import -- it only has to run, and first
import './settle-memory.ts'
import { parseCommandLine } from './program.ts'
import { readTlsFiles } from './tls-files.ts'
import { oneLine, UsageError } from './usage-error.ts'
import { readVersion } from './version.ts'

const FAILED = 1
const BAD_USAGE = 2

/** Runs the program; the result is its exit code. */
async function main(): Promise<number> {
  const invocation = parseCommandLine(process.argv.slice(2), process.env, readVersion())
  if (invocation.kind === 'print') {
    process.stdout.write(invocation.text)
    return 0
  }
  if (invocation.kind === 'demo') {
    const { demo } = await import('../demo/demo.ts')
    return demo(invocation.options)
  }
  // Each is loaded only when it is asked for: run needs nothing of them.
  if (invocation.kind === 'validate') {
    const { validateCommand } = await import('./validate.ts')
    return validateCommand(invocation.request.files, { format: invocation.request.format })
  }
  if (invocation.kind === 'explain') {
    const { explainCommand } = await import('./explain.ts')
    return explainCommand(invocation.request)
  }
  if (invocation.kind === 'schema') {
    const { schemaCommand } = await import('./schema-command.ts')
    process.stdout.write(schemaCommand())
    return 0
  }
  readTlsFiles(invocation.options)
  // Loaded only now: help and complaints need none of it.
  const { run } = await import('./run.ts')
  return run(invocation.options)
}

main().then(
  (code) => process.exit(code),
  (error: unknown) => {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(`squall: ${oneLine(reason)}\n`)
    process.exit(error instanceof UsageError ? BAD_USAGE : FAILED)
  },
)
