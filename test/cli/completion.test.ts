// part: slow
import { spawnSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../support/commands/command-line.ts'
import { completionScript, SHELLS } from '../../src/cli/commands/completion.ts'
import { startProgram } from '../support/commands.ts'

const hasBash = spawnSync('bash', ['-c', 'complete -p']).status !== null

/** Returns what bash offers for words after squall; the last word is the one under the cursor. */
function offered(...words: readonly string[]): readonly string[] {
  return offeredFor('squall', ...words)
}

/**
 * Returns what bash offers for a line, by the function that the script registers for its first
 * word.
 */
function offeredFor(command: string, ...words: readonly string[]): readonly string[] {
  const script = `${completionScript('bash', COMMANDS)}
COMP_WORDS=(${command} "$@"); COMP_CWORD=$(( \${#COMP_WORDS[@]} - 1 ))
$(complete -p ${command} | sed 's/.*-F \\([^ ]*\\).*/\\1/')
printf '%s\\n' "\${COMPREPLY[@]}"`
  const { stdout, stderr } = spawnSync('bash', ['-c', script, 'bash', ...words], {
    encoding: 'utf8',
  })
  expect(stderr).toBe('')
  return stdout.split('\n').filter((word) => word !== '')
}

describe.skipIf(!hasBash)('bash', () => {
  it('is offered commands, commands below them, and their options', () => {
    expect(offered('')).toEqual(expect.arrayContaining(['run', 'load', 'experiment', 'help']))
    expect(offered('--v')).toEqual(['--version'])
    expect(offered('mcp', '')).toEqual(['approve', 'hook', 'policy'])
    expect(offered('mcp', 'policy', '')).toEqual(['init', 'trust', 'validate', 'print'])
    expect(offered('mcp', 'policy', 'print', '--ag')).toEqual(['--agent'])
    expect(offered('mcp', '--aud')).toEqual(['--audit'])
    expect(offered('load', 'report', '--mark')).toEqual(['--markdown'])
    expect(offered('exp')).toEqual(
      ['experiment', 'explain'].filter((word) => word.startsWith('exp')),
    )
    expect(offered('experiment', '')).toEqual([
      'run',
      'validate',
      'catalog',
      'next',
      'list',
      'show',
      'compare',
      'again',
      'search',
      'simulate',
      'restore',
    ])
    expect(offered('fault', '')).toEqual(['add', 'list', 'remove', 'clear'])
    expect(offered('load', '--ra')).toEqual(['--rate', '--ramp'])
    expect(offered('load', '--rate', '5/s', '--retries')).toEqual(['--retries'])
    expect(offered('experiment', 'list', '--ver')).toEqual(['--verdict'])
    expect(offered('run', '--max-b')).toEqual(['--max-body'])
  })

  it('is offered the same after npx mcp-squall, and nothing after another program of npx', () => {
    expect(offeredFor('npx', 'squall', 'experiment', '')).toEqual(offered('experiment', ''))
    expect(offeredFor('npx', 'mcp-squall', 'load', '--ra')).toEqual(['--rate', '--ramp'])
    expect(offeredFor('npx', 'squ')).toEqual([])
    expect(offeredFor('npx', 'vitest', '')).toEqual([])
  })

  it('keeps completions that npx has already', () => {
    const script = `_mine() { :; }; complete -F _mine npx\n${completionScript('bash', COMMANDS)}`
    const { stdout } = spawnSync('bash', ['-c', `${script}complete -p npx`], { encoding: 'utf8' })
    expect(stdout).toBe('complete -F _mine npx\n')
  })

  it('is offered nothing where a file or a value stands, and completes names of files', () => {
    expect(offered('validate', 'ru')).toEqual([])
    expect(offered('load', '--report', 'x')).toEqual([])
    expect(offered('nonsense', '--')).toEqual([])
  })
})

it('each script names every option of every command', () => {
  for (const shell of SHELLS) {
    const script = completionScript(shell, COMMANDS)
    for (const { flags } of COMMANDS) {
      for (const { name } of flags) {
        expect(script).toContain(shell === 'fish' ? ` -l ${name} ` : `--${name}`)
      }
    }
  }
})

it('texts with quotes cannot leave their place in a fish script', () => {
  const [first] = COMMANDS
  const hostile = { ...first!, name: 'x', description: "it's \\'; touch /tmp/x" }
  expect(completionScript('fish', [hostile])).toContain("-a x -d 'it\\'s \\\\\\'; touch /tmp/x'")
})

it.each([
  [[], 'squall: no shell; use one of bash, zsh, fish\n'],
  [['csh'], 'squall: unsupported shell "csh"; use one of bash, zsh, fish\n'],
])('completion %j is refused in one line', async (args, line) => {
  const { code, stdout, stderr } = await startProgram(['completion', ...args], {}, { here: true })
  expect({ code, stdout, stderr }).toEqual({ code: 2, stdout: '', stderr: line })
})

it('completion prints the script of a shell', async () => {
  const { code, stdout } = await startProgram(['completion', 'zsh'], {}, { here: true })
  expect(code).toBe(0)
  expect(stdout).toBe(completionScript('zsh', COMMANDS))
})
