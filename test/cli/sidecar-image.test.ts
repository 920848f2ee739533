// part: slow
import { cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Finished, startProgram } from '../support/commands.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

let directory: string
/** The modules of each file of the program. */
let chunks: Readonly<Record<string, readonly string[]>>

// The program as the image of the sidecar has it.
beforeAll(async () => {
  // Below the project, so that its packages are found.
  directory = await mkdtemp(join(ROOT, 'build/sidecar-image-'))
  const list = await readFile(join(ROOT, 'build/js/sidecar-files.txt'), 'utf8')
  chunks = JSON.parse(await readFile(join(ROOT, 'build/js/chunks.json'), 'utf8')) as typeof chunks
  await cp(join(ROOT, 'package.json'), join(directory, 'package.json'))
  for (const file of [...list.trim().split('\n'), 'admin']) {
    await mkdir(join(directory, 'dist', file, '..'), { recursive: true })
    await cp(join(ROOT, 'dist', file), join(directory, 'dist', file), { recursive: true })
  }
})

afterAll(() => rm(directory, { recursive: true, force: true }))

function squall(...args: readonly string[]): Promise<Finished> {
  const main = join(directory, 'dist/cli/main.js')
  return startProgram([main, ...args], {}, { program: process.execPath }).finished()
}

describe('the program in the image of the sidecar', () => {
  it.concurrent.each(['run', 'stdio', 'redirect', 'attached', 'wait-ready', 'pre-stop', 'explain'])(
    'has squall %s',
    async (command) => {
      const { code, stdout } = await squall(command, '--help')
      expect(stdout).toContain(`Usage: squall ${command}`)
      expect(code).toBe(0)
    },
  )

  it.concurrent.each(['load', 'experiment run', 'mcp', 'webhook', 'apply', 'top'])(
    'names the full image for squall %s',
    async (command) => {
      const { code, stderr } = await squall(...command.split(' '))
      expect(stderr).toBe(
        `squall: squall ${command.split(' ')[0]} is not in the sidecar image; use the image tag without the suffix -sidecar, or the npm package\n`,
      )
      expect(code).toBe(2)
    },
  )

  // Every pod pulls these files; notices are text, and few pods load OTLP.
  it('weighs at most 2.6 MB with the page, without notices and OTLP', async () => {
    let bytes = 0
    for (const entry of await readdir(join(directory, 'dist'), {
      recursive: true,
      withFileTypes: true,
    })) {
      const path = join(entry.parentPath, entry.name)
      const modules = chunks[relative(join(directory, 'dist'), path)] ?? []
      const isOtlp = modules.some((module) => /opentelemetry\/(?:sdk|otlp|core)/.test(module))
      if (entry.isFile() && !isOtlp && entry.name !== 'third-party-notices.txt') {
        bytes += (await stat(path)).size
      }
    }
    expect(bytes).toBeGreaterThan(1_000_000)
    expect(bytes).toBeLessThan(2_600_000)
  })

  it('says what is missing where a package that is there cannot be loaded', async () => {
    const home = join(directory, 'elsewhere')
    const cli = join(home, 'dist/cli')
    const [tools] = Object.entries(chunks).find(([, modules]) =>
      modules.some((name) => name.endsWith('packages/tools/src/commands/index.js')),
    )!
    for (const file of [...Object.keys(chunks), 'package.json']) {
      await cp(join(ROOT, 'dist', file), join(home, 'dist', file))
    }
    await cp(join(ROOT, 'package.json'), join(home, 'package.json'))
    await writeFile(join(home, 'dist', tools), "require('./lost.js')\n")
    const args = [join(cli, 'main.js'), 'top']
    const { code, stderr } = await startProgram(args, {}, { program: process.execPath }).finished()
    expect(stderr).toMatch(/^squall: Cannot find module '\.\/lost\.js'/)
    expect(code).toBe(1)
  })

  it('runs with rules, and has the live page', async () => {
    const main = join(directory, 'dist/cli/main.js')
    const rules = join(directory, 'rules.yaml')
    await writeFile(rules, 'rules: [{ name: a, match: { tool: b }, faults: [hang] }]\n')
    const places = ['--listen', '127.0.0.1:0', '--admin', '127.0.0.1:0', '--rules', rules]
    const program = startProgram([main, 'run', ...places], {}, { program: process.execPath })
    const { address } = await program.logged('admin listening')
    const page = await fetch(`http://${String(address)}/`, {
      headers: { accept: 'text/html' },
    })
    expect(await page.text()).toContain('<title>')
    program.signal('SIGTERM')
    expect(await program.ended).toMatchObject({ code: 0 })
  })

  it('lists in its help what the full image has, and completes what is there', async () => {
    const { stdout } = await squall('--help')
    expect(stdout).toContain('Load and experiments:')
    const { stdout: script } = await squall('completion', 'bash')
    expect(script).toContain('wait-ready')
    expect(script).not.toContain("'experiment run'")
  })
})
