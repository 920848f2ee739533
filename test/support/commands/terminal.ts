import { execFile, execFileSync } from 'node:child_process'
import { promisify } from 'node:util'
import type { Reader, Setup } from '../../docs/reader.ts'
import { eventually } from '../eventually.ts'
import { PATIENCE } from '../../system/patience.ts'
import { MissingToolError } from '../../system/tools.ts'

const run = promisify(execFile)

/** A real terminal with a shell in it. */
export interface Terminal {
  /** Returns the content of the screen. */
  screen(): Promise<string>
  /** The same with the codes of its colours. */
  coloured(): Promise<string>
  /** Resolves when the screen matches. */
  shows(pattern: RegExp): Promise<void>
  /** Types a line, and the key that ends it. */
  enter(line: string): Promise<void>
  /** Presses one key, as `q` or `C-c`. */
  press(key: string): Promise<void>
  resize(width: number, height: number): Promise<void>
  /** Returns a property of the terminal, by a format of tmux. */
  tell(format: string): Promise<string>
  close(): Promise<void>
}

let started = 0

/** Starts a terminal, or a shell for somebody who follows a page of the documents in a clone. */
export function startTerminal(reader: { readonly reader: Setup }): Promise<Reader>
export function startTerminal(width: number, height: number): Promise<Terminal>
export async function startTerminal(
  either: number | { readonly reader: Setup },
  height = 24,
): Promise<Terminal | Reader> {
  if (typeof either === 'number') return tmuxTerminal(either, height)
  return (await import('../../docs/reader.ts')).pageReader(either.reader)
}

/** Starts a terminal of its own server, which knows of no other. */
async function tmuxTerminal(width: number, height: number): Promise<Terminal> {
  try {
    execFileSync('tmux', ['-V'], { stdio: 'ignore' })
  } catch {
    throw new MissingToolError('tmux (a package of that name in most systems)')
  }
  const name = `squall-${process.pid}-${++started}`
  const tmux = async (...args: readonly string[]): Promise<string> => {
    const { stdout } = await run('tmux', ['-L', name, '-f', '/dev/null', ...args], {
      env: { PATH: process.env['PATH'], LANG: 'C.UTF-8', TERM: 'xterm-256color' },
    })
    return stdout
  }
  const size = ['-x', String(width), '-y', String(height)]
  await tmux('-u', 'new-session', '-d', ...size, 'PS1="$ " exec sh')
  await tmux('set-option', 'window-size', 'manual')
  const screen = (): Promise<string> => tmux('capture-pane', '-p')
  const press = async (...keys: readonly string[]): Promise<void> =>
    void (await tmux('send-keys', ...keys))
  return {
    screen,
    coloured: () => tmux('capture-pane', '-e', '-p'),
    shows: (pattern) =>
      eventually(async () => {
        const now = await screen()
        return pattern.test(now) ? undefined : `not ${String(pattern)}:\n${now}`
      }, PATIENCE),
    enter: async (line) => {
      await press('-l', line)
      await press('Enter')
    },
    press: (key) => press(key),
    resize: async (x, y) => void (await tmux('resize-window', '-x', String(x), '-y', String(y))),
    tell: async (format) => (await tmux('display-message', '-p', format)).trim(),
    close: async () => void (await tmux('kill-server')),
  }
}
