// part: terminal
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { completionScript } from '../../src/cli/commands/completion.ts'
import { COMMANDS } from '../support/commands/command-line.ts'
import { startTerminal, type Terminal } from '../support/commands.ts'
import { MissingToolError } from './tools.ts'

let directory: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'squall-completion-'))
  for (const shell of ['zsh', 'fish'] as const) {
    await writeFile(join(directory, shell), completionScript(shell, COMMANDS))
  }
  await writeFile(join(directory, 'rules.yaml'), '')
})

afterEach(async () => {
  await rm(directory, { recursive: true, force: true })
})

function needs(shell: string): void {
  try {
    execFileSync(shell, ['--version'])
  } catch {
    throw new MissingToolError(`${shell} (a package of that name in most systems)`)
  }
}

describe('zsh', () => {
  let terminal: Terminal

  beforeEach(async () => {
    needs('zsh')
    terminal = await startTerminal(100, 30)
    await terminal.enter(`cd ${directory} && exec env -u ZDOTDIR HOME=${directory} zsh -f`)
    await terminal.enter(
      "PS1='> '; autoload -U compinit; compinit -u; source ./zsh; echo is-'ready'",
    )
    await terminal.shows(/^is-ready$/m)
  })

  afterEach(() => terminal?.close())

  it.each([
    ['squall exp', /^experiment +explain/m],
    ['squall experiment ', /(?=[^]*\bcatalog\b)[^]*\bvalidate\b/],
    ['squall load --ra', /^--ramp +--rate/m],
    ['npx mcp-squall load --ra', /^--ramp +--rate/m],
    ['squall validate ru', /^> squall validate rules\.yaml/m],
  ])('completes %j with the Tab key', async (line, wanted) => {
    await terminal.press(line)
    await terminal.press('Tab')
    await terminal.press('Tab')
    await terminal.shows(wanted)
  })
})

describe('fish', () => {
  const offered = (line: string): readonly string[] => {
    needs('fish')
    const script = 'source ./fish; complete -C $argv[1]'
    const text = execFileSync('fish', ['-c', script, line], {
      cwd: directory,
      encoding: 'utf8',
      env: { ...process.env, HOME: directory },
    })
    const lines = text.split('\n').filter((each) => each !== '')
    return lines.map((each) => each.split('\t')[0]!).sort()
  }

  it.each([
    ['squall exp', ['experiment', 'explain']],
    ['squall load --ra', ['--ramp', '--rate']],
    ['npx mcp-squall load --ra', ['--ramp', '--rate']],
    ['squall validate ru', ['rules.yaml']],
    ['npx vitest --ra', []],
  ])('completes %j', (line, wanted) => {
    expect(offered(line)).toEqual(wanted)
  })

  it('offers the commands of a family', () => {
    expect(offered('squall experiment ')).toEqual(expect.arrayContaining(['run', 'validate']))
  })
})
